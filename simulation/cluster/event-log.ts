import { ApiError, type Client, type PositionedEvent, UnreachableError } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { eventually } from './failover-run.ts'

/** One change event. */
export interface LoggedEvent {
  readonly position: string
  readonly type: string
  readonly id: string
  readonly version: number
}

/** Records the events of streams until it is stopped. */
export interface EventLog {
  /** Revision of the first list. */
  readonly from: string
  readonly received: readonly LoggedEvent[]
  /** Number of times that a stream ended and was resumed, at the next client if there are several. */
  readonly breaks: number
  /** Number of reset events. */
  readonly resets: number
  /** Waits until every resource was listed or received at this version or a newer one. */
  untilReceived(versions: Iterable<readonly [id: string, version: number]>): Promise<void>
  stop(): Promise<void>
}

const RECONNECT_MS = 50

/** Resolves when the first stream is open. Begins at the revision of a list unless a position is given, as clients do. */
export async function openEventLog(clients: readonly Client[], after?: string): Promise<EventLog> {
  // Versions in the list count as received: a stream from its revision does not repeat them.
  const list = after === undefined ? await listOf(clients) : { revision: after, items: [] }
  const { revision: from } = list
  const stopping = new AbortController()
  const received: LoggedEvent[] = []
  const newest = new Map(list.items.map(({ id, version }) => [id, version]))
  const count = { breaks: 0, resets: 0, opened: 0 }

  function record({ position, event }: PositionedEvent): void {
    count.opened += 1
    if (event.type === 'reset') count.resets += 1
    if (position === null || !('version' in event)) return
    const { type, id, version } = event
    received.push({ position, type, id, version })
    newest.set(id, Math.max(version, newest.get(id) ?? 0))
  }

  async function run(): Promise<void> {
    for (let attempt = 0; !stopping.signal.aborted; attempt += 1) {
      try {
        await follow(clients[attempt % clients.length], received.at(-1)?.position ?? from)
      } catch (error) {
        if (stopping.signal.aborted) return
        if (!(error instanceof UnreachableError) && !(error instanceof ApiError)) throw error
      }
      count.breaks += stopping.signal.aborted ? 0 : 1
      await systemClock.sleep(RECONNECT_MS, stopping.signal)
    }
  }
  async function follow(client: Client | undefined, position: string): Promise<void> {
    for await (const event of client?.events({ after: position, signal: stopping.signal }) ?? []) record(event)
  }

  const ended = run()
  await eventually('an open event stream', () => (count.opened > 0 ? true : null))
  return {
    from,
    received,
    get breaks() {
      return count.breaks
    },
    get resets() {
      return count.resets
    },
    async untilReceived(versions) {
      const wanted = [...versions]
      const missing = () => wanted.filter(([id, version]) => (newest.get(id) ?? 0) < version)
      await eventually('every change in the event stream', () => (missing().length === 0 ? true : null)).catch(
        error => {
          throw new Error(`${error.message}; not received: ${JSON.stringify(missing())}`)
        },
      )
    },
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

async function listOf([client]: readonly Client[]) {
  if (client === undefined) throw new Error('no clients')
  return client.call('listWorkers', { query: { limit: 1000 } })
}

/** Events whose version is not newer than the previous one of the resource. There must be none. */
export function versionsGoingBack(received: readonly LoggedEvent[]): readonly LoggedEvent[] {
  const last = new Map<string, number>()
  return received.filter(({ id, version }) => {
    const before = last.get(id) ?? 0
    last.set(id, version)
    return version <= before
  })
}

/** Events that every stream delivers: those of a removed resource, except its removal, are sent only while it exists. */
export function durableEvents(received: readonly LoggedEvent[]): readonly LoggedEvent[] {
  const removed = new Set(received.filter(({ type }) => type.endsWith('.deleted')).map(({ id }) => id))
  return received.filter(({ id, type }) => type.endsWith('.deleted') || !removed.has(id))
}
