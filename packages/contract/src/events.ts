import { DecisionRecord } from '@lcm/domain/decision'
import { Instant } from '@lcm/domain/instant'
import { z } from 'zod'
import {
  EVENT_RESOURCE_NAMES,
  type EventData,
  type EventName,
  type EventResourceName,
  RESOURCE_KINDS,
} from './resource-kinds.ts'
import { WorkerSample } from './worker-bodies.ts'

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

const change = <T extends string>(types: readonly [T, ...T[]], data: z.ZodType) =>
  z.object({ type: z.enum(types), id: z.string(), version: z.int(), at: Instant, data })
const changed = rows.map(({ name, view }) => change([`${name}.created`, `${name}.updated`], view))
const [firstDeleted, ...otherDeleted] = rows.flatMap(({ name, isDeletable }) =>
  isDeletable ? [`${name}.deleted`] : [],
)
const deleted = change([firstDeleted ?? '', ...otherDeleted], z.null())
/** Something that belongs to no version: it has no position and is not told again after a reconnect. */
const decided = z.object({ type: z.literal('decision'), id: z.string(), at: Instant, data: DecisionRecord })
/** At most one a second: the newest sample of every worker that reported since the last. */
const measured = z.object({
  type: z.literal('metrics.batch'),
  at: Instant,
  data: z.array(z.object({ worker_id: z.string(), sample: WorkerSample })),
})
/**
 * `reset`: the position is unknown or too old, so read the lists again. `heartbeat`: the stream is alive. Every stream begins
 * with one, and they come at least every HEARTBEAT_MS.
 */
const signal = z.object({ type: z.enum(['heartbeat', 'reset']), at: Instant })

export type EventEnvelope =
  | Changed
  | Deleted
  | z.infer<typeof decided>
  | z.infer<typeof measured>
  | z.infer<typeof signal>
// The types of the first two follow from the same table as their schemas.
export const EventEnvelope = z.union([...changed, deleted, decided, measured, signal]) as z.ZodType<EventEnvelope>
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

/** A type, or the kind that types begin with. */
const ONE_TYPE = [...new Set(EVENT_TYPES.flatMap(type => [type, ...type.split('.').slice(0, 1)]))]
  .join('|')
  .replaceAll('.', '\\.')

export const EventQuery = z.strictObject({
  /** Resume after this position; the header `Last-Event-ID` wins. Without one the stream begins now. */
  after: z.string().max(64).optional(),
  /** Only these, with commas: types such as `worker.updated`, or kinds such as `worker`. Signals always come. */
  types: z
    .string()
    .max(500)
    .regex(new RegExp(`^(${ONE_TYPE})(,(${ONE_TYPE}))*$`), `with commas, of ${EVENT_TYPES.join(', ')}`)
    .optional(),
  /** Only events about this resource. */
  id: z.string().min(1).max(64).optional(),
})

export const HEARTBEAT_MS = 15_000

/** One message of the stream. Only changes have an id: the position to resume from. */
export interface SseMessage {
  readonly id: string | null
  readonly data: string
}

export const writeSse = (message: SseMessage): string =>
  `${message.id === null ? '' : `id: ${message.id}\n`}data: ${message.data}\n\n`
