import {
  DefinitionName,
  DefinitionSpec,
  DefinitionStatus,
  LabletDefinition,
  TOPOLOGY_CHARS_MAX,
  TOPOLOGY_EXAMPLE,
} from '@lcm/domain/definition/lablet-definition'
import { Instant } from '@lcm/domain/instant'
import { Reason } from '@lcm/domain/reason'
import { REFUSALS } from '@lcm/domain/session/placement'
import { onOneLine } from '@lcm/domain/text/hidden-characters'
import { z } from 'zod'
import { ActionReason, LARGE_BODY_BYTES_MAX, listOf, Page } from './common-schemas.ts'
import type { ProblemCode } from './problem-codes.ts'
import { AUTHORS, EVERYONE, LABLET_CONTROLLER, type RouteSpec } from './route-spec.ts'
import { AdmissionPreview, PreviewAdmission } from './session/booking.ts'

/** Computed when one definition is read, because the fleet changes; lists and events do not have it. */
const warnings = z.array(Reason).meta({
  description:
    'Why no template and no worker can run this lab now; empty if one can, for versions that are DEPRECATED or not fetched yet, and for ' +
    'users.',
  example: [],
})
export const DefinitionAnswer = LabletDefinition.extend({ warnings }).meta({
  id: 'DefinitionAnswer',
  description: 'A definition, with warnings.',
})

/** Lists omit the topology: it may be long. */
export const DefinitionSummary = LabletDefinition.omit({ topology: true }).meta({
  id: 'DefinitionSummary',
  description: 'A definition without its topology.',
})
export const DefinitionList = listOf(DefinitionSummary).meta({
  id: 'DefinitionList',
  description: 'A page of definitions.',
})

export const LabGraph = z
  .object({
    nodes: z
      .array(
        z.object({
          id: z.string().meta({ description: 'The id of the node.', example: 'n0' }),
          label: z.string().meta({ description: 'The label of the node.', example: 'r1' }),
          node_definition: z.string().meta({ description: 'The node definition.', example: 'iol-xe' }),
        }),
      )
      .meta({ description: 'The nodes.' }),
    links: z
      .array(
        z.object({
          a: z.string().meta({ description: 'The id of the first node.', example: 'n0' }),
          b: z.string().meta({ description: 'The id of the second node.', example: 'n0' }),
          label: z.string().meta({ description: 'The label; may be empty.', example: '' }),
        }),
      )
      .meta({ description: 'The links between nodes.', example: [] }),
  })
  .meta({ id: 'LabGraph', description: 'The nodes and links of a topology.' })
export type LabGraph = z.infer<typeof LabGraph>

export const DefinitionWithGraph = DefinitionAnswer.extend({
  graph: LabGraph.nullable().meta({ description: 'The topology as a graph; null until it is fetched.' }),
  given: z
    .object({
      title: z.boolean().meta({ description: 'Whether the author set the title.' }),
      needs: z.boolean().meta({ description: 'Whether the author set the needs.' }),
      port_template: z.boolean().meta({ description: 'Whether the author set the ports.' }),
      cml_min: z.boolean().meta({ description: 'Whether the author set the oldest CML release.' }),
    })
    .meta({
      description: 'The fields that the author set; the others follow from the topology.',
      example: { title: true, needs: false, port_template: false, cml_min: false },
    }),
}).meta({ id: 'DefinitionWithGraph', description: 'A definition with its topology as text and as a graph.' })

const DefinitionQuery = Page.extend({
  name: DefinitionName.optional().meta({ description: 'Only versions of this definition.', example: 'bgp-basics' }),
  status: DefinitionStatus.optional().meta({ description: 'Only definitions with this status.', example: 'ACTIVE' }),
  q: z.string().max(128).optional().meta({ description: 'Only definitions whose name contains this text.' }),
})

const topology = z.string().min(1).max(TOPOLOGY_CHARS_MAX)
const topologyField = topology.optional().meta({
  description: 'The CML topology as YAML, if `source` is `inline`.',
  example: TOPOLOGY_EXAMPLE,
})
const spec = DefinitionSpec.shape
/** Stored titles may have characters that new ones must not have. */
const title = onOneLine(spec.title.unwrap())
  .default('')
  .meta({ ...z.globalRegistry.get(spec.title) })
export const CreateDefinition = DefinitionSpec.extend({ title, topology: topologyField }).meta({
  id: 'CreateDefinition',
  description: 'A definition to create.',
  example: { name: 'bgp-basics', topology: TOPOLOGY_EXAMPLE },
})

/** The description of a field is lost with its default, so it is copied. */
const optionalField = <T extends z.ZodType>(field: z.ZodDefault<T>) =>
  field
    .unwrap()
    .optional()
    .meta({ description: z.globalRegistry.get(field)?.description })
export const PutDefinition = z
  .strictObject({
    title: optionalField(title),
    description: optionalField(spec.description),
    source: optionalField(spec.source),
    needs: optionalField(spec.needs),
    cml_version: optionalField(spec.cml_version),
    license_affinity: optionalField(spec.license_affinity),
    port_template: optionalField(spec.port_template),
    max_duration_minutes: optionalField(spec.max_duration_minutes),
    boot_lead_minutes: optionalField(spec.boot_lead_minutes),
    lab_reuse: optionalField(spec.lab_reuse),
    saves_enabled: optionalField(spec.saves_enabled),
    topology: topologyField,
  })
  .meta({
    id: 'PutDefinition',
    description: 'Fields to change; omitted fields stay as they are.',
    example: { topology: TOPOLOGY_EXAMPLE },
  })

export const SyncResult = z
  .strictObject({
    source: spec.source.unwrap().meta({
      description: 'The URL that was fetched, as the definition had it when the fetch began.',
      example: 'https://example.org/bgp.yaml',
    }),
    requested_at: Instant.nullable().meta({
      description: '`sync.at` when the fetch began. The result is ignored if a newer fetch was requested since.',
    }),
    result: z
      .union([
        z.strictObject({
          topology: topology.meta({ description: 'The CML topology as YAML.', example: TOPOLOGY_EXAMPLE }),
          package_sha256: z.string().length(64).meta({
            description: 'The hash of the fetched file.',
            example: '5f1c0d9a7be34412a06e8cc3d2f7b9015f1c0d9a7be34412a06e8cc3d2f7b901',
          }),
        }),
        z.strictObject({ error: z.string().min(1).max(1000).meta({ description: 'Why the fetch failed.' }) }),
      ])
      .meta({ description: 'The fetched topology, or the error.' }),
  })
  .meta({ id: 'SyncResult', description: 'The result of fetching a topology.' })

const share = (description: string) =>
  z
    .object({
      cpu: z.number().meta({ description: 'The reserved share of CPU.', example: 0.25 }),
      memory: z.number().meta({ description: 'The reserved share of memory.', example: 0.5 }),
    })
    .meta({ description })
const workerFields = {
  worker_id: z.string().meta({ description: 'The id of the worker.', example: 'w-5k1r2m3n8pq4t' }),
  worker_name: z.string().meta({ description: 'The name of the worker.', example: 'training-1' }),
}
export const PlacementPreview = z
  .object({
    candidates: z
      .array(
        z.object({
          ...workerFields,
          score: z.number().meta({ description: 'The score; the highest wins.', example: 0.8 }),
          before: share('Reserved capacity before the placement.'),
          after: share('Reserved capacity after the placement.'),
        }),
      )
      .meta({ description: 'Workers that can take the session, best first.' }),
    refusals: z
      .array(
        z.object({
          ...workerFields,
          category: z.enum(REFUSALS).meta({ description: 'The kind of refusal.' }),
          because: Reason.meta({ description: 'The reason.' }),
        }),
      )
      .meta({ description: 'Workers that cannot take the session, and why.' }),
    outcome: z.enum(['place', 'wait', 'resume', 'scale_up', 'unschedulable']).meta({
      description: 'What would happen to a session that starts now.',
    }),
    because: Reason.meta({ description: 'The reason.' }),
  })
  .meta({ id: 'PlacementPreview', description: 'Where a session would be placed now.' })

const NARROW_SOURCE =
  'Only authors get the source with its query, which may be a signature. Users get no details of a failed fetch.'

const DEFINITION_ID = { id: { description: 'The id of the definition.', example: 'ld-5k1r2m3n8pq4t' } } as const

interface DefinitionAction {
  readonly summary: string
  readonly description: string
  readonly problems: readonly ProblemCode[]
}
const action = (verb: string, { problems, ...texts }: DefinitionAction) =>
  ({
    method: 'POST',
    path: `/lablet-definitions/{id}/${verb}`,
    params: DEFINITION_ID,
    ...texts,
    access: AUTHORS,
    body: ActionReason,
    status: 202,
    answer: DefinitionAnswer,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch', ...problems],
  }) as const satisfies RouteSpec

export const DEFINITION_ROUTES = {
  listDefinitions: {
    method: 'GET',
    path: '/lablet-definitions',
    summary: 'List lab definitions',
    description: `Returns lab definitions without their topologies. ${NARROW_SOURCE}`,
    access: EVERYONE,
    query: DefinitionQuery,
    status: 200,
    answer: DefinitionList,
    problems: [],
  },
  createDefinition: {
    method: 'POST',
    path: '/lablet-definitions',
    summary: 'Create a lab definition',
    description:
      'Creates a definition. An inline topology is validated at once; otherwise it is fetched. `warnings` says if nothing can run it now.',
    access: AUTHORS,
    body: CreateDefinition,
    bodyBytesMax: LARGE_BODY_BYTES_MAX,
    status: 201,
    answer: DefinitionAnswer,
    location: '/lablet-definitions/{id}',
    idempotent: true,
    problems: ['already_exists', 'topology_invalid', 'port_node_unknown'],
  },
  getDefinition: {
    method: 'GET',
    path: '/lablet-definitions/{id}',
    params: DEFINITION_ID,
    summary: 'Get a lab definition',
    description:
      'Returns one definition with its topology as text and as a graph. For users the text is null: it may hold ' +
      `configurations with passwords. ${NARROW_SOURCE}`,
    access: EVERYONE,
    status: 200,
    answer: DefinitionWithGraph,
    problems: ['not_found'],
  },
  putDefinition: {
    method: 'PUT',
    path: '/lablet-definitions/{id}',
    params: DEFINITION_ID,
    summary: 'Edit a lab definition',
    description:
      'Changes a definition. An ACTIVE version never changes: editing it creates the next version, which replaces it ' +
      'once its topology is valid.',
    access: AUTHORS,
    body: PutDefinition,
    bodyBytesMax: LARGE_BODY_BYTES_MAX,
    status: 200,
    answer: DefinitionAnswer,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'topology_invalid', 'port_node_unknown', 'definition_deprecated'],
  },
  deleteDefinition: {
    method: 'DELETE',
    path: '/lablet-definitions/{id}',
    params: DEFINITION_ID,
    summary: 'Delete a lab definition',
    description: 'Deletes a definition that no session uses.',
    access: AUTHORS,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'definition_in_use'],
  },
  syncDefinition: action('sync', {
    summary: 'Fetch the topology again',
    description: 'Requests that the lablet-controller fetches the topology from its source.',
    problems: ['source_inline', 'definition_deprecated'],
  }),
  deprecateDefinition: action('deprecate', {
    summary: 'Deprecate a lab definition',
    description: 'Refuses new sessions of this definition. Existing sessions continue.',
    problems: [],
  }),
  previewPlacement: {
    method: 'POST',
    path: '/lablet-definitions/{id}/placement-preview',
    params: DEFINITION_ID,
    summary: 'Preview the placement of a session',
    description:
      'Returns where a session of this definition would be placed now, and why not on other workers. Users read only whether it waits.',
    access: EVERYONE,
    status: 200,
    answer: PlacementPreview,
    problems: ['not_found'],
  },
  previewAdmission: {
    method: 'POST',
    path: '/lablet-definitions/{id}/admission-preview',
    params: DEFINITION_ID,
    summary: 'Preview the admission of a booking',
    description: 'Returns whether so many seats would be admitted at that time, and the nearest times that work.',
    access: EVERYONE,
    body: PreviewAdmission,
    status: 200,
    answer: AdmissionPreview,
    problems: ['not_found', 'timeslot_invalid'],
  },
  recordSync: {
    method: 'POST',
    path: '/lablet-definitions/{id}/sync-result',
    params: DEFINITION_ID,
    summary: 'Record a fetched topology',
    description: 'Stores the fetched topology, or the error.',
    access: LABLET_CONTROLLER,
    body: SyncResult,
    bodyBytesMax: LARGE_BODY_BYTES_MAX,
    status: 200,
    answer: LabletDefinition,
    fenced: true,
    problems: ['not_found', 'version_mismatch'],
  },
} as const satisfies Record<string, RouteSpec>
