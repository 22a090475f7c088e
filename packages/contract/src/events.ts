import { DecisionRecord } from '@lcm/domain/decision'
import { Instant } from '@lcm/domain/instant'
import { LabRecord } from '@lcm/domain/lab/lab-record'
import { LabletSession } from '@lcm/domain/session/lablet-session'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { z } from 'zod'
import { SettingsView } from './fleet-bodies.ts'
import { DefinitionSummary } from './lablet-bodies.ts'
import { WorkerSample, WorkerView } from './worker-bodies.ts'

/** The kinds of resources that announce their changes, and what each is made of. */
export const EVENT_KINDS = {
  worker: WorkerView,
  template: WorkerTemplate,
  settings: SettingsView,
  definition: DefinitionSummary,
  session: LabletSession,
  lab: LabRecord,
} as const
export type EventKind = keyof typeof EVENT_KINDS

const changed = <K extends EventKind>(kind: K) =>
  z.object({
    type: z.enum([`${kind}.created`, `${kind}.updated`] as const),
    id: z.string(),
    version: z.int(),
    at: Instant,
    data: EVENT_KINDS[kind],
  })
const deleted = z.object({
  type: z.enum(['worker.deleted', 'template.deleted', 'definition.deleted', 'session.deleted', 'lab.deleted']),
  id: z.string(),
  version: z.int(),
  at: Instant,
  data: z.null(),
})
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

export const EventEnvelope = z.union([
  changed('worker'),
  changed('template'),
  changed('settings'),
  changed('definition'),
  changed('session'),
  changed('lab'),
  deleted,
  decided,
  measured,
  signal,
])
export type EventEnvelope = z.infer<typeof EventEnvelope>
export const EVENT_TYPES = [
  'worker.created',
  'worker.updated',
  'worker.deleted',
  'template.created',
  'template.updated',
  'template.deleted',
  'settings.created',
  'settings.updated',
  'definition.created',
  'definition.updated',
  'definition.deleted',
  'session.created',
  'session.updated',
  'session.deleted',
  'lab.created',
  'lab.updated',
  'lab.deleted',
  'decision',
  'metrics.batch',
  'heartbeat',
  'reset',
] as const satisfies readonly EventEnvelope['type'][]

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
