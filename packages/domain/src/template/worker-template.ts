import { z } from 'zod'
import { documentFields } from '../document-fields.ts'

export const TemplateName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'lower-case letters, digits and dashes, 1 to 63 characters')
  .meta({ id: 'TemplateName', description: 'The name of a worker template.' })

/** The limits exceed any machine, and sums over a fleet still can't overflow. */
export const Capacity = z
  .object({
    cpu_cores: z.int().positive().max(100_000).meta({ description: 'CPU cores.', example: 48 }),
    memory_gb: z.number().positive().max(1_000_000).meta({ description: 'Memory in GB.', example: 192 }),
    storage_gb: z.number().positive().max(1_000_000).meta({ description: 'Storage in GB.', example: 200 }),
    max_nodes: z
      .int()
      .positive()
      .max(1_000_000)
      .meta({ description: 'The maximum number of lab nodes.', example: 200 }),
  })
  .meta({ id: 'Capacity', description: 'The capacity of one worker.' })
export type Capacity = z.infer<typeof Capacity>

export const HourlyUsd = z
  .number()
  .nonnegative()
  .max(10_000)
  .meta({ id: 'HourlyUsd', description: 'A price in USD per hour.', example: 3.9641 })

/** The fields of a template that users set. */
export const WorkerTemplateSpec = z.strictObject({
  name: TemplateName.meta({ description: 'The name that workers refer to.', example: 'metal' }),
  description: z.string().max(500).default('').meta({
    description: 'A description for people who choose a template.',
    example: 'Bare metal with 48 vCPU and 192 GiB',
  }),
  instance_types: z
    .array(z.string().min(1))
    .min(1)
    .max(10)
    .meta({
      description: 'EC2 instance types in order of preference. The first available one is used.',
      example: ['m5zn.metal', 'm5.metal'],
    }),
  ami_name_pattern: z
    .string()
    .min(1)
    .max(128)
    .meta({ description: 'The newest image with a matching name is used.', example: 'cml-2.9.1-*' }),
  ami_owner: z.string().min(1).meta({
    description: 'The owner of the image. Without it, a public image with the same name could be used.',
    example: 'self',
  }),
  capacity: Capacity.meta({ description: 'The capacity of each worker.' }),
  cost_per_hour_usd: HourlyUsd.meta({ description: 'The price of a running machine in USD per hour.' }),
  root_volume_gb: z.int().min(8).max(16_384).default(64).meta({ description: 'The size of the root volume in GB.' }),
  volume_encrypted: z.boolean().default(true).meta({ description: 'Whether the root volume is encrypted.' }),
  iam_instance_profile: z
    .string()
    .nullable()
    .default(null)
    .meta({ description: 'The IAM instance profile of the machine.' }),
  nested_virtualization: z
    .boolean()
    .default(false)
    .meta({ description: 'Enables nested virtualization, for instance types that are not bare metal.' }),
  subnets: z
    .record(z.string(), z.array(z.string()).min(1))
    .default({})
    .meta({ description: 'Subnets by region. They override the subnets of the region.' }),
  associate_public_ip: z
    .boolean()
    .nullable()
    .default(null)
    .meta({ description: 'Whether machines get a public IP address; null uses the subnet setting.' }),
  license_product: z
    .string()
    .max(64)
    .nullable()
    .default(null)
    .meta({ description: 'The license that workers register unless they name another one.' }),
  drain_timeout_seconds: z
    .int()
    .min(60)
    .max(7 * 86_400)
    .default(4 * 3600)
    .meta({ description: 'How long a drain waits for sessions before it continues without them.' }),
  replace_lost: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether a worker whose machine is lost gets a new one.' }),
  enabled: z.boolean().default(true).meta({ description: 'Whether new workers may be created from it.' }),
})
export type WorkerTemplateSpec = z.infer<typeof WorkerTemplateSpec>

export const UserData = z.string().max(16_384).meta({
  id: 'UserData',
  description: 'User data that machines get at their first boot. Write-only: it may contain secrets.',
})

export const WorkerTemplate = WorkerTemplateSpec.extend({
  has_user_data: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether it has user data. Only controllers can read the text.' }),
  secret_refs: z
    .record(z.string(), z.string())
    .default({})
    .meta({ description: 'References to its secrets by kind; never the secrets themselves.' }),
  seeded_from_sha256: z
    .string()
    .nullable()
    .default(null)
    .meta({ description: 'The hash of the file that it was last seeded from; null if a caller created it.' }),
  ...documentFields('wt-5k1r2m3n8pq4t'),
}).meta({ id: 'WorkerTemplate', description: 'A worker template.' })
export type WorkerTemplate = z.infer<typeof WorkerTemplate>

/** A machine may have 50 tags: LCM needs 6 of them, and a worker may bring 35. */
const DEFAULT_TAGS_MAX = 9
const DefaultTags = z
  .record(z.string(), z.string().max(256, 'a tag has at most 256 characters: shorten it'))
  .refine(tags => Object.keys(tags).every(name => /^.{1,128}$/s.test(name)), {
    message: 'the name of a tag has 1 to 128 characters: shorten it',
  })
  .refine(tags => Object.keys(tags).length <= DEFAULT_TAGS_MAX, {
    message: `at most ${DEFAULT_TAGS_MAX}, since the tags of its worker need the rest: remove some`,
  })

/** Facts about an instance type, for types that LCM does not know and for other prices. */
const InstanceTypeFacts = z.strictObject({
  vcpus: Capacity.shape.cpu_cores,
  memory_gb: Capacity.shape.memory_gb,
  cost_per_hour_usd: HourlyUsd,
})

/** The configuration of a region: where machines may be launched there, and how they are reached. */
export const RegionConfig = z.strictObject({
  security_group_ids: z.array(z.string()).default([]),
  subnets: z.array(z.string()).min(1),
  key_name: z.string().nullable().default(null),
  default_tags: DefaultTags.default({}),
  /** By name. A known type may have a price only. */
  instance_types: z.record(z.string().min(1), InstanceTypeFacts.partial()).exactOptional(),
  disk_usd_per_gb_month: z.number().nonnegative().max(100).exactOptional(),
})
export type RegionConfig = z.infer<typeof RegionConfig>
