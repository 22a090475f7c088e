import { TOPOLOGY_EXAMPLE } from '@lcm/domain/definition/lablet-definition'
import { Instant } from '@lcm/domain/instant'
import { DecisionNote } from '@lcm/domain/journal-records'
import { LabRecord, LabStatus } from '@lcm/domain/lab/lab-record'
import { z } from 'zod'
import { ActionReason, LARGE_BODY_BYTES_MAX, listOf, Page } from './common-schemas.ts'
import { EVERYONE, LABLET_CONTROLLER, OPERATORS, type RouteSpec } from './route-spec.ts'

export const LabList = listOf(LabRecord).meta({ id: 'LabList', description: 'A page of labs.' })

const LabQuery = Page.extend({
  worker_id: z.string().max(64).optional().meta({
    description: 'Only labs on this worker.',
    example: 'w-5k1r2m3n8pq4t',
  }),
  session_id: z.string().max(64).optional().meta({
    description: 'Only labs of this session.',
    example: 'ls-5k1r2m3n8pq4t',
  }),
  status: LabStatus.optional().meta({ description: 'Only labs with this status.', example: 'BOOTED' }),
  include_deleted: z.union([z.boolean(), z.stringbool()]).default(false).meta({
    description: 'Also returns deleted labs.',
  }),
})

export const LabTopology = z
  .object({ topology: z.string().meta({ description: 'The CML topology as YAML.', example: TOPOLOGY_EXAMPLE }) })
  .meta({ id: 'LabTopology', description: 'The topology of a lab.' })

export const AllocatePorts = z
  .strictObject({
    taken: z
      .array(z.int().min(1).max(65_535))
      .max(10_000)
      .meta({
        description: 'Ports that other labs on the worker use.',
        example: [2001],
      }),
  })
  .meta({ id: 'AllocatePorts', description: 'A request for ports.' })
export const AllocatedPorts = z
  .object({
    ports: z.record(z.string(), z.int()).meta({ description: 'Port numbers by name.', example: { r1_serial: 2000 } }),
  })
  .meta({ id: 'AllocatedPorts', description: 'The allocated ports.' })

const { shape } = LabRecord
export const ReportLab = z
  .strictObject({
    changes: z
      .strictObject({
        status: LabStatus.exactOptional().meta({ description: 'The observed status.' }),
        lab_id: shape.lab_id.exactOptional(),
        raw_state: shape.raw_state.exactOptional(),
        nodes: shape.nodes.exactOptional(),
        pending_action: shape.pending_action.exactOptional(),
        last_error: shape.last_error.exactOptional(),
      })
      .meta({
        description: 'Changed fields; omitted fields stay as they are.',
        example: { status: 'BOOTED', raw_state: 'STARTED' },
      }),
    decision: DecisionNote.meta({ description: 'The decision behind the write.' }),
  })
  .meta({ id: 'ReportLab', description: 'What the lablet-controller observed or did.' })

export const DiscoverLabs = z
  .strictObject({
    worker_id: z.string().min(1).max(64).meta({ description: 'The worker.', example: 'w-5k1r2m3n8pq4t' }),
    began_at: Instant.meta({ description: 'When the scan began.' }),
    is_complete: z.boolean().meta({
      description: 'Whether every lab was listed and read. Only a complete scan marks missing labs as gone.',
    }),
    labs: z
      .array(
        z.strictObject({
          lab_id: z.string().max(64).meta({ description: 'The CML lab id.', example: 'b3f5c0aa' }),
          title: z.string().max(256).meta({ description: 'The title in CML.', example: 'BGP basics' }),
          owner: z.string().max(128).nullable().meta({ description: 'The owner in CML.', example: 'admin' }),
          state: z.string().max(64).meta({ description: 'The state in CML.', example: 'STARTED' }),
          node_count: z.int().nonnegative().meta({ description: 'The number of nodes.', example: 1 }),
          link_count: z.int().nonnegative().meta({ description: 'The number of links.', example: 0 }),
          nodes: shape.nodes.optional().meta({ description: 'The nodes; omitted if unchanged or unknown.' }),
        }),
      )
      .max(5000)
      .meta({ description: 'The labs.' }),
  })
  .meta({ id: 'DiscoverLabs', description: 'A scan of all labs of a worker.' })
export const DiscoverAnswer = z
  .object({
    created: z.int().meta({ description: 'New lab records.', example: 1 }),
    updated: z.int().meta({ description: 'Changed lab records.', example: 0 }),
    orphaned: z.int().meta({ description: 'Lab records whose lab is missing.', example: 0 }),
  })
  .meta({ id: 'DiscoverAnswer', description: 'The result of a scan.' })

const LAB_ID = { id: { description: 'The id of the lab record.', example: 'lr-5k1r2m3n8pq4t' } } as const

const action = (verb: string, summary: string, description: string) =>
  ({
    method: 'POST',
    path: `/lab-records/{id}/${verb}`,
    params: LAB_ID,
    summary,
    description,
    access: OPERATORS,
    body: ActionReason,
    status: 202,
    answer: LabRecord,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch', 'lab_in_use', 'lab_gone'],
  }) as const satisfies RouteSpec

export const LAB_ROUTES = {
  listLabs: {
    method: 'GET',
    path: '/lab-records',
    summary: 'List labs',
    description: 'Returns the labs on workers, whether LCM created them or found them.',
    access: EVERYONE,
    query: LabQuery,
    status: 200,
    answer: LabList,
    problems: [],
  },
  getLab: {
    method: 'GET',
    path: '/lab-records/{id}',
    params: LAB_ID,
    summary: 'Get a lab',
    description: 'Returns one lab.',
    access: EVERYONE,
    status: 200,
    answer: LabRecord,
    problems: ['not_found'],
  },
  getLabTopology: {
    method: 'GET',
    path: '/lab-records/{id}/topology',
    params: LAB_ID,
    summary: 'Get the topology of a lab',
    description:
      'Returns the topology that LCM created the lab from. Users read only those of the labs of their own sessions.',
    access: EVERYONE,
    status: 200,
    answer: LabTopology,
    problems: ['not_found'],
  },
  startLab: action('start', 'Start a lab', 'Requests that the lablet-controller starts the lab.'),
  stopLab: action('stop', 'Stop a lab', 'Requests that the lablet-controller stops the lab.'),
  wipeLab: action('wipe', 'Wipe a lab', 'Requests that the lablet-controller wipes the lab. It must be stopped.'),
  deleteLab: action('delete', 'Delete a lab', 'Requests that the lablet-controller stops, wipes and removes the lab.'),
} as const satisfies Record<string, RouteSpec>

/** Routes that only the lablet-controller may call. */
export const LAB_CONTROLLER_ROUTES = {
  allocatePorts: {
    method: 'POST',
    path: '/lab-records/{id}/ports',
    params: LAB_ID,
    summary: 'Allocate ports for a lab',
    description: 'Allocates ports on the worker of the lab. A repeated request returns the same ports.',
    access: LABLET_CONTROLLER,
    body: AllocatePorts,
    status: 200,
    answer: AllocatedPorts,
    fenced: true,
    problems: ['not_found', 'no_capacity', 'lab_gone'],
  },
  reportLab: {
    method: 'PATCH',
    path: '/lab-records/{id}/status',
    params: LAB_ID,
    summary: 'Report the status of a lab',
    description: 'Stores what the lablet-controller observed or did.',
    access: LABLET_CONTROLLER,
    body: ReportLab,
    status: 200,
    answer: LabRecord,
    fenced: true,
    ifMatch: 'required',
    problems: ['not_found', 'version_mismatch', 'already_exists'],
  },
  discoverLabs: {
    method: 'POST',
    path: '/lab-records/discoveries',
    summary: 'Record the labs of a worker',
    description: 'Stores a scan of all labs of a worker.',
    access: LABLET_CONTROLLER,
    body: DiscoverLabs,
    bodyBytesMax: LARGE_BODY_BYTES_MAX,
    status: 200,
    answer: DiscoverAnswer,
    fenced: true,
    problems: ['not_found', 'already_exists'],
  },
} as const satisfies Record<string, RouteSpec>
