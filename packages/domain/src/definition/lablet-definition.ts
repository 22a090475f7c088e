import { z } from 'zod'
import { Instant } from '../instant.ts'
import { PortWish } from '../lab/ports.ts'
import { LabNeeds } from '../lab/topology.ts'

export const DefinitionStatus = z.enum(['PENDING_SYNC', 'ACTIVE', 'DEPRECATED'])

export const DefinitionName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'lower-case letters, digits and dashes')
export const DefinitionVersion = z
  .string()
  .regex(/^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$/, 'a version such as 1.0.0')
const CmlVersion = z.string().regex(/^\d+\.\d+(\.\d+)?$/, 'a version such as 2.9')

export const TOPOLOGY_CHARS_MAX = 1024 * 1024

/** No two of the same name: ports are known by it. */
const PortTemplate = z
  .array(PortWish)
  .max(500)
  .refine(wishes => new Set(wishes.map(({ name }) => name)).size === wishes.length, 'each name once')

/** Where the topology comes from: said inline, or fetched. */
export const DefinitionSource = z.union([
  z.literal('inline'),
  z
    .string()
    .max(2000)
    .regex(/^(file:|https:\/\/|s3:\/\/)/, 'file:, https:// or s3://'),
])

/** What an author may say. What is left out follows from the topology. */
export const DefinitionSpec = z.strictObject({
  name: DefinitionName,
  title: z.string().max(64).default(''),
  description: z.string().max(2000).default(''),
  source: DefinitionSource.default('inline'),
  needs: LabNeeds.nullable().default(null),
  cml_version: z
    .strictObject({ min: CmlVersion.nullable(), max: CmlVersion.nullable() })
    .default({ min: null, max: null }),
  /** Only workers with one of these licences; empty: any. */
  license_affinity: z.array(z.string().min(1).max(64)).max(10).default([]),
  port_template: PortTemplate.nullable().default(null),
  max_duration_minutes: z
    .int()
    .min(1)
    .max(7 * 24 * 60)
    .default(60),
  /** How long before its slot a lab is started; null: as the settings say. */
  boot_lead_minutes: z.int().min(0).max(240).nullable().default(null),
  /** Whether the lab of a session that ended is kept, wiped, for the next one. */
  lab_reuse: z.boolean().default(false),
})
export type DefinitionSpec = z.infer<typeof DefinitionSpec>

export const SyncState = z.object({
  status: z.enum(['none', 'requested', 'success', 'failed']),
  error: z.string().nullable(),
  at: Instant.nullable(),
  package_sha256: z.string().nullable(),
})

/** A lab that can be booked. A version that is ACTIVE never changes: sessions pin it. */
export const LabletDefinition = DefinitionSpec.extend({
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  created_by: z.string(),
  /** Its own version, besides that of the document. */
  definition_version: DefinitionVersion,
  status: DefinitionStatus,
  /** The version before it, which is deprecated when this one becomes ACTIVE. */
  replaces: z.string().nullable(),
  /** CML topology YAML; null until it was fetched. */
  topology: z.string().max(TOPOLOGY_CHARS_MAX).nullable(),
  topology_sha256: z.string().nullable(),
  needs: LabNeeds,
  node_definitions_required: z.array(z.string()).max(100),
  port_template: PortTemplate,
  sync: SyncState,
})
export type LabletDefinition = z.infer<typeof LabletDefinition>

export const nextPatch = (version: string): string => {
  const [major = '1', minor = '0', patch = '0'] = version.split('.')
  return `${major}.${minor}.${Number(patch) + 1}`
}
