import { z } from 'zod'
import { Instant } from '../instant.ts'

export const TemplateName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'lower-case letters, digits and dashes, 1 to 63 characters')

/** The limits lie far beyond any machine, and as far from where sums over a fleet would overflow. */
export const Capacity = z.object({
  cpu_cores: z.int().positive().max(100_000),
  memory_gb: z.number().positive().max(1_000_000),
  storage_gb: z.number().positive().max(1_000_000),
  max_nodes: z.int().positive().max(1_000_000),
})
export type Capacity = z.infer<typeof Capacity>

export const HourlyUsd = z.number().nonnegative().max(10_000)

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
  cost_per_hour_usd: HourlyUsd,
  root_volume_gb: z.int().min(8).max(16_384).default(64),
  volume_encrypted: z.boolean().default(true),
  iam_instance_profile: z.string().nullable().default(null),
  nested_virtualization: z.boolean().default(false),
  /** Subnets by region; they win over the region's own list. */
  subnets: z.record(z.string(), z.array(z.string()).min(1)).default({}),
  /** Whether machines get a public address; null leaves it to the subnet. */
  associate_public_ip: z.boolean().nullable().default(null),
  license_product: z.string().max(64).nullable().default(null),
  /** How long a drain waits for sessions before it stops the worker under them. */
  drain_timeout_seconds: z
    .int()
    .min(60)
    .max(7 * 86_400)
    .default(4 * 3600),
  /** Whether a worker whose machine is lost is replaced by a new one. */
  replace_lost: z.boolean().default(false),
  enabled: z.boolean().default(true),
})
export type WorkerTemplateSpec = z.infer<typeof WorkerTemplateSpec>

/** Handed to machines at their first boot. Write-only: it may hold secrets. */
export const UserData = z.string().max(16_384)

export const WorkerTemplate = WorkerTemplateSpec.extend({
  /** Whether it has user data; the text itself is shown to controllers only. */
  has_user_data: z.boolean().default(false),
  /** Where its secrets are kept, by what they are. */
  secret_refs: z.record(z.string(), z.string()).default({}),
  /** The file that it was last seeded from, by its content; null when people made it. */
  seeded_from_sha256: z.string().nullable().default(null),
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
})
export type WorkerTemplate = z.infer<typeof WorkerTemplate>

/** A machine may have 50 tags: LCM needs 6 of them, and a worker may bring 35. */
const DEFAULT_TAGS_MAX = 9
const DefaultTags = z
  .record(z.string(), z.string().max(256, 'a tag has at most 256 characters: shorten it'))
  .refine(tags => Object.keys(tags).every(name => /^.{1,128}$/s.test(name)), {
    message: 'the name of a tag has 1 to 128 characters: shorten it',
  })
  .refine(tags => Object.keys(tags).length <= DEFAULT_TAGS_MAX, {
    message: `at most ${DEFAULT_TAGS_MAX}, so that a machine has room for those of its worker: remove some`,
  })

/** What an operator says of a region: where machines may be put there, and how they are reached. */
export const RegionConfig = z.strictObject({
  security_group_ids: z.array(z.string()).default([]),
  subnets: z.array(z.string()).min(1),
  key_name: z.string().nullable().default(null),
  default_tags: DefaultTags.default({}),
})
export type RegionConfig = z.infer<typeof RegionConfig>
