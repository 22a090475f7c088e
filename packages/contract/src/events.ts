import { Instant } from '@lcm/domain/instant'
import { DecisionRecord } from '@lcm/domain/journal-records'
import { z } from 'zod'
import {
  EVENT_RESOURCE_NAMES,
  type EventData,
  type EventName,
  type EventResourceName,
  RESOURCE_KINDS,
} from './resource-kinds.ts'
import { EVERYONE, type RouteSpec } from './route-spec.ts'
import { WorkerSample } from './worker.ts'

const rows = EVENT_RESOURCE_NAMES.map(name => RESOURCE_KINDS[name].event)

interface ChangeEvent<T extends string, D> {
  readonly type: T
  readonly id: string
  readonly version: number
  readonly at: Instant
  readonly data: D
}
/** A resource was created or updated. */
type Changed = {
  [N in EventResourceName]: ChangeEvent<`${EventName<N>}.${'created' | 'updated'}`, EventData<N>>
}[EventResourceName]
type Deletable = {
  [N in EventResourceName]: (typeof RESOURCE_KINDS)[N]['event']['isDeletable'] extends true ? N : never
}[EventResourceName]
type Deleted = ChangeEvent<`${EventName<Deletable>}.deleted`, null>

const typeText = { description: 'The event type.' }
const resourceField = z.string().meta({ description: 'The id of the resource.', example: 'w-5k1r2m3n8pq4t' })
const versionField = z.int().meta({
  description: 'The version of the resource. Versions may be skipped but never go back.',
  example: 4,
})
const atField = Instant.meta({ description: 'When it happened.' })

const change = <T extends string>(types: readonly [T, ...T[]], data: z.ZodType) =>
  z.object({ type: z.enum(types).meta(typeText), id: resourceField, version: versionField, at: atField, data })
const changed = rows.map(({ name, view }) =>
  change(
    [`${name}.created`, `${name}.updated`],
    (view as z.ZodType).meta({ description: 'The resource after the change.' }),
  ),
)
const [firstDeleted, ...otherDeleted] = rows.flatMap(({ name, isDeletable }) =>
  isDeletable ? [`${name}.deleted`] : [],
)
const deleted = change(
  [firstDeleted ?? '', ...otherDeleted],
  z.null().meta({ description: 'Always null: the resource is gone.' }),
)
/** A decision has no version: it has no position and is not repeated after a reconnect. */
const decided = z.object({
  type: z.literal('decision').meta(typeText),
  id: resourceField,
  at: atField,
  data: DecisionRecord.meta({ description: 'The decision.' }),
})
/** Sent at most once a second: the newest sample of every worker that reported since. */
const measured = z.object({
  type: z.literal('metrics.batch').meta(typeText),
  at: atField,
  data: z
    .array(
      z.object({
        worker_id: z.string().meta({ description: 'The id of the worker.', example: 'w-5k1r2m3n8pq4t' }),
        sample: WorkerSample.meta({ description: 'The measurement.' }),
      }),
    )
    .meta({ description: 'The new measurements.' }),
})
/**
 * `reset`: the position is unknown or too old, so the lists must be read again. `heartbeat`: the stream is alive. Every stream
 * begins with one, and they follow at least every HEARTBEAT_MS.
 */
const signal = z.object({ type: z.enum(['heartbeat', 'reset']).meta(typeText), at: atField })

export type EventEnvelope =
  | Changed
  | Deleted
  | z.infer<typeof decided>
  | z.infer<typeof measured>
  | z.infer<typeof signal>
// The types of the first two follow from the same table as their schemas.
export const EventEnvelope = z
  .union([...changed, deleted, decided, measured, signal])
  .meta({ id: 'EventEnvelope', description: 'One event.' }) as z.ZodType<EventEnvelope>
export const EVENT_TYPES: readonly EventEnvelope['type'][] = [
  ...rows.flatMap(({ name, isDeletable }) => [
    `${name}.created` as const,
    `${name}.updated` as const,
    ...(isDeletable ? [`${name}.deleted` as const] : []),
  ]),
  'decision',
  'metrics.batch',
  'heartbeat',
  'reset',
]

/** Data of an event, if it says that a resource of this name was created or updated. */
export function changedData<N extends EventResourceName>(name: N, event: EventEnvelope): EventData<N> | null {
  const { name: prefix } = RESOURCE_KINDS[name].event
  const isChange = event.type === `${prefix}.created` || event.type === `${prefix}.updated`
  return isChange && 'data' in event ? (event.data as EventData<N>) : null
}

/** Id in an event, if it says that a resource of this name was deleted. */
export const deletedId = (name: EventResourceName, event: EventEnvelope): string | null =>
  event.type === `${RESOURCE_KINDS[name].event.name}.deleted` && 'id' in event ? event.id : null

/** Matches a type, or the kind that types begin with. */
const ONE_TYPE = [...new Set(EVENT_TYPES.flatMap(type => [type, ...type.split('.').slice(0, 1)]))]
  .join('|')
  .replaceAll('.', '\\.')

export const EventQuery = z.strictObject({
  after: z.string().max(64).optional().meta({
    description:
      'Resume after this position. The header `Last-Event-ID` takes precedence. Without either the stream begins now.',
    example: '1042',
  }),
  types: z
    .string()
    .max(500)
    .regex(new RegExp(`^(${ONE_TYPE})(,(${ONE_TYPE}))*$`), `with commas, of ${EVENT_TYPES.join(', ')}`)
    .optional()
    .meta({
      description:
        'Only these types such as `worker.updated`, or kinds such as `worker`, separated by commas. Signals are always sent.',
      example: 'worker,template',
    }),
  id: z.string().min(1).max(64).optional().meta({
    description: 'Only events about this resource.',
    example: 'w-5k1r2m3n8pq4t',
  }),
})

export const HEARTBEAT_MS = 15_000

/** One message of the stream. Only changes have an id, which is the position to resume from. */
export interface SseMessage {
  readonly id: string | null
  readonly data: string
}

export const writeSse = (message: SseMessage): string =>
  `${message.id === null ? '' : `id: ${message.id}\n`}data: ${message.data}\n\n`

export const EVENT_ROUTES = {
  events: {
    method: 'GET',
    path: '/events',
    summary: 'Stream events',
    description:
      'Streams every change as server-sent events. Resume with `Last-Event-ID` to miss nothing. Each caller gets the same view ' +
      'as in lists, and nothing about the sessions and labs of others unless it may see them. Sources of definitions have no query.',
    access: EVERYONE,
    query: EventQuery,
    status: 200,
    answer: EventEnvelope,
    stream: true,
    problems: ['too_many_clients'],
  },
} as const satisfies Record<string, RouteSpec>
