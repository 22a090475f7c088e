import { z } from 'zod'
import { documentFields } from '../document-fields.ts'
import { Instant } from '../instant.ts'
import { PortWish } from '../lab/ports.ts'
import { LabNeeds } from '../lab/topology.ts'

export const DefinitionStatus = z
  .enum(['PENDING_SYNC', 'ACTIVE', 'DEPRECATED'])
  .meta({ id: 'DefinitionStatus', description: 'The status of a lab definition.' })

export const DefinitionName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'lower-case letters, digits and dashes')
  .meta({ id: 'DefinitionName', description: 'The name of a lab definition.' })
export const DefinitionVersion = z
  .string()
  .regex(/^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$/, 'a version such as 1.0.0')
  .meta({ id: 'DefinitionVersion', description: 'The version of a lab definition.' })
const CmlVersion = z.string().regex(/^\d+\.\d+(\.\d+)?$/, 'a version such as 2.9')

export const TOPOLOGY_CHARS_MAX = 1024 * 1024

/** A topology for the API documentation. */
export const TOPOLOGY_EXAMPLE = `lab:
  version: 0.3.0
nodes:
  - id: n0
    label: r1
    node_definition: iol-xe
    x: 0
    y: 0
    tags: [serial:5000]
    interfaces: []
links: []
`

/** Names are unique: ports are identified by them. */
const PortTemplate = z
  .array(PortWish)
  .max(500)
  .refine(wishes => new Set(wishes.map(({ name }) => name)).size === wishes.length, 'each name once')

export const DefinitionSource = z
  .string()
  .max(2000)
  .regex(/^(inline$|file:|https:\/\/|s3:\/\/)/, '`inline`, or a URL with file:, https:// or s3://')
  .meta({
    id: 'DefinitionSource',
    description: 'Where the topology comes from: `inline`, or the URL that it is fetched from.',
  })

/** The fields that an author sets. Omitted ones follow from the topology. */
export const DefinitionSpec = z.strictObject({
  name: DefinitionName.meta({ description: 'The name that sessions refer to.', example: 'bgp-basics' }),
  title: z.string().max(64).default('').meta({
    description: 'The display name. If it is empty, the title of the topology is used.',
    example: 'BGP basics',
  }),
  description: z
    .string()
    .max(2000)
    .default('')
    .meta({ description: 'A description for people who choose a lab.', example: 'Two routers, one session' }),
  source: DefinitionSource.default('inline').meta({
    description: '`inline`, or the URL that the topology is fetched from.',
    example: 'inline',
  }),
  needs: LabNeeds.nullable()
    .default(null)
    .meta({ description: 'The capacity that a session needs; by default the sum over its nodes.' }),
  cml_version: z
    .strictObject({
      min: CmlVersion.nullable().meta({ description: 'The oldest release; null for any.' }),
      max: CmlVersion.nullable().meta({ description: 'The newest release; null for any.' }),
    })
    .default({ min: null, max: null })
    .meta({ description: 'The CML releases that can run it.', example: { min: '2.9', max: null } }),
  license_affinity: z
    .array(z.string().min(1).max(64))
    .max(10)
    .default([])
    .meta({ description: 'Restricts placement to workers with one of these licenses; empty for any.' }),
  port_template: PortTemplate.nullable()
    .default(null)
    .meta({
      description:
        'The ports to open to its nodes; null for those that the node tags request, or without such tags for the consoles of ' +
        'all nodes. An empty list opens none.',
    }),
  max_duration_minutes: z
    .int()
    .min(1)
    .max(7 * 24 * 60)
    .default(60)
    .meta({ description: 'The longest duration of a session, in minutes.' }),
  boot_lead_minutes: z
    .int()
    .min(0)
    .max(240)
    .nullable()
    .default(null)
    .meta({ description: 'How long before its timeslot a lab is started; null uses the setting.' }),
  lab_reuse: z
    .boolean()
    .default(false)
    .meta({
      description:
        'Whether the lab of an ended session is wiped and kept for the next one. Only with saves off: a saved lab has ' +
        'the configurations of its last learner.',
    }),
  saves_enabled: z.boolean().default(true).meta({ description: 'Whether the work in its labs is saved.' }),
})
export type DefinitionSpec = z.infer<typeof DefinitionSpec>

export const SyncState = z
  .object({
    status: z
      .enum(['none', 'requested', 'success', 'failed'])
      .meta({ description: 'The result of the latest fetch.', example: 'none' }),
    error: z.string().nullable().meta({ description: 'Why the latest fetch failed.', example: null }),
    at: Instant.nullable().meta({ description: 'When the fetch was requested or finished.', example: null }),
    package_sha256: z.string().nullable().meta({ description: 'The hash of the fetched file.', example: null }),
  })
  .meta({ id: 'SyncState', description: 'The state of fetching the topology.' })

export const LabletDefinition = DefinitionSpec.extend({
  ...documentFields('ld-5k1r2m3n8pq4t'),
  created_by: z.string().meta({ description: 'The caller who created it.', example: 'admin' }),
  definition_version: DefinitionVersion.meta({ description: 'The version of the definition.', example: '1.0.0' }),
  status: DefinitionStatus.meta({
    description: '`PENDING_SYNC`: waits for its topology; `ACTIVE`: can be booked; `DEPRECATED`: cannot be booked.',
    example: 'ACTIVE',
  }),
  replaces: z
    .string()
    .nullable()
    .meta({ description: 'The id of the version that this one replaces when it becomes ACTIVE.', example: null }),
  topology: z.string().max(TOPOLOGY_CHARS_MAX).nullable().meta({
    description: 'The CML topology as YAML; null until it is fetched, and for users.',
    example: TOPOLOGY_EXAMPLE,
  }),
  topology_sha256: z.string().nullable().meta({
    description: 'The hash of the topology.',
    example: '5f1c0d9a7be34412a06e8cc3d2f7b9015f1c0d9a7be34412a06e8cc3d2f7b901',
  }),
  needs: LabNeeds.meta({ description: 'The capacity that a session needs.' }),
  node_definitions_required: z
    .array(z.string())
    .max(100)
    .meta({ description: 'Node definitions that a CML server must support.', example: ['iol-xe'] }),
  port_template: PortTemplate.meta({
    description: 'The ports to open to its nodes.',
    example: [{ name: 'r1_serial', node: 'r1', protocol: 'serial', inside: 0 }],
  }),
  sync: SyncState.meta({ description: 'The state of fetching the topology.' }),
}).meta({ id: 'LabletDefinition', description: 'A lab that can be booked. An ACTIVE version never changes.' })
export type LabletDefinition = z.infer<typeof LabletDefinition>

export const nextPatch = (version: string): string => {
  const [major = '1', minor = '0', patch = '0'] = version.split('.')
  return `${major}.${minor}.${Number(patch) + 1}`
}
