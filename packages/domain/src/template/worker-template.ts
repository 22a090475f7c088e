import { z } from 'zod'
import { Instant } from '../instant.ts'

export const TemplateName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'lower-case letters, digits and dashes, 1 to 63 characters')

export const Capacity = z.object({
  cpu_cores: z.int().positive(),
  memory_gb: z.number().positive(),
  storage_gb: z.number().positive(),
  max_nodes: z.int().positive(),
})
export type Capacity = z.infer<typeof Capacity>

/** What a person may say of a template. */
export const WorkerTemplateSpec = z.strictObject({
  name: TemplateName,
  description: z.string().max(500).default(''),
  /** In order of preference: the first that the cloud can give is taken. */
  instance_types: z.array(z.string().min(1)).min(1).max(10),
  ami_name_pattern: z.string().min(1).max(128),
  /** Without an owner anybody's public image of that name would win. */
  ami_owner: z.string().min(1),
  capacity: Capacity,
  cost_per_hour_usd: z.number().nonnegative(),
  root_volume_gb: z.int().min(8).max(16_384).default(64),
  volume_encrypted: z.boolean().default(true),
  iam_instance_profile: z.string().nullable().default(null),
  nested_virtualization: z.boolean().default(false),
  /** Subnets by region; they win over the region's own list. */
  subnets: z.record(z.string(), z.array(z.string()).min(1)).default({}),
  enabled: z.boolean().default(true),
})
export type WorkerTemplateSpec = z.infer<typeof WorkerTemplateSpec>

export const WorkerTemplate = WorkerTemplateSpec.extend({
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
})
export type WorkerTemplate = z.infer<typeof WorkerTemplate>

/** What an operator says of a region: where machines may be put there, and how they are reached. */
export const RegionConfig = z.strictObject({
  security_group_ids: z.array(z.string()).default([]),
  subnets: z.array(z.string()).min(1),
  key_name: z.string().nullable().default(null),
  default_tags: z.record(z.string(), z.string()).default({}),
})
export type RegionConfig = z.infer<typeof RegionConfig>
