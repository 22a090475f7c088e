import { Instant } from '@lcm/domain/instant'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { Worker } from '@lcm/domain/worker/worker'
import { z } from 'zod'

/** The kinds of resources that announce their changes, and what each is made of. */
export const EVENT_KINDS = { worker: Worker, template: WorkerTemplate } as const
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
  type: z.enum(['worker.deleted', 'template.deleted']),
  id: z.string(),
  version: z.int(),
  at: Instant,
  data: z.null(),
})
/**
 * `reset`: the position is unknown or too old, so read the lists again. `heartbeat`: the stream is alive. Every stream begins
 * with one, and they come at least every HEARTBEAT_MS.
 */
const signal = z.object({ type: z.enum(['heartbeat', 'reset']), at: Instant })

export const EventEnvelope = z.union([changed('worker'), changed('template'), deleted, signal])
export type EventEnvelope = z.infer<typeof EventEnvelope>

export const EventQuery = z.strictObject({
  /** Resume after this position; the header `Last-Event-ID` wins. Without one the stream begins now. */
  after: z.string().max(64).optional(),
})

export const HEARTBEAT_MS = 15_000

/** One message of the stream. Only changes have an id: the position to resume from. */
export interface SseMessage {
  readonly id: string | null
  readonly data: string
}

export const writeSse = (message: SseMessage): string =>
  `${message.id === null ? '' : `id: ${message.id}\n`}data: ${message.data}\n\n`
