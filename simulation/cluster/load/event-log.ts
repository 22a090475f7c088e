import { ApiError, type Client, type PositionedEvent, UnreachableError } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { eventually } from '../failover.ts'

/** One change as a stream told it. */
export interface LoggedEvent {
  readonly position: string
  readonly type: string
  readonly id: string
  readonly version: number
}

/** Writes down what event streams tell until it is stopped. */
export interface EventLog {
  /** The revision of the list that it began with. */
  readonly from: string
  readonly heard: readonly LoggedEvent[]
  /** How often a stream broke and was resumed, at the next client where there are several. */
  readonly breaks: number
  /** How often it was told to read everything again. */
  readonly resets: number
  /** Waits until every resource was heard of, or listed in the beginning, at this version or a newer one. */
  untilHeard(versions: Iterable<readonly [id: string, version: number]>): Promise<void>
  stop(): Promise<void>
}

const RECONNECT_MS = 50

/** Resolves when the first stream is open. Begins at the revision of a list unless a position is given, as clients do. */
export async function openEventLog(clients: readonly Client[], after?: string): Promise<EventLog> {
  // A list is as good as having heard: what changed before it is told to nobody who follows from its revision.
  const list = after === undefined ? await listOf(clients) : { revision: after, items: [] }
  const { revision: from } = list
  const stopping = new AbortController()
  const heard: LoggedEvent[] = []
  const newest = new Map(list.items.map(({ id, version }) => [id, version]))
  const count = { breaks: 0, resets: 0, opened: 0 }

  function hear({ position, event }: PositionedEvent): void {
    count.opened += 1
    if (event.type === 'reset') count.resets += 1
    if (position === null || !('version' in event)) return
    const { type, id, version } = event
    heard.push({ position, type, id, version })
    newest.set(id, Math.max(version, newest.get(id) ?? 0))
  }

  async function run(): Promise<void> {
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      try {
        await follow(clients[turn % clients.length], heard.at(-1)?.position ?? from)
      } catch (error) {
        if (stopping.signal.aborted) return
        if (!(error instanceof UnreachableError) && !(error instanceof ApiError)) throw error
      }
      count.breaks += stopping.signal.aborted ? 0 : 1
      await systemClock.sleep(RECONNECT_MS, stopping.signal)
    }
  }
  async function follow(client: Client | undefined, position: string): Promise<void> {
    for await (const event of client?.events({ after: position, signal: stopping.signal }) ?? []) hear(event)
  }

  const ended = run()
  await eventually('an open event stream', () => (count.opened > 0 ? true : null))
  return {
    from,
    heard,
    get breaks() {
      return count.breaks
    },
    get resets() {
      return count.resets
    },
    async untilHeard(versions) {
      const wanted = [...versions]
      const missing = () => wanted.filter(([id, version]) => (newest.get(id) ?? 0) < version)
      await eventually('every change in the event stream', () => (missing().length === 0 ? true : null)).catch(
        error => {
          throw new Error(`${error.message}; not heard of: ${JSON.stringify(missing())}`)
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
  if (client === undefined) throw new Error('There is nobody to listen to.')
  return client.call('listWorkers', { query: { limit: 1000 } })
}

/** Versions of one resource that did not grow from one event to the next. There must be none. */
export function versionsGoingBack(heard: readonly LoggedEvent[]): readonly LoggedEvent[] {
  const last = new Map<string, number>()
  return heard.filter(({ id, version }) => {
    const before = last.get(id) ?? 0
    last.set(id, version)
    return version <= before
  })
}

/** Without what a stream tells only as long as the resource is there: all of a removed one but its removal. */
export function durableEvents(heard: readonly LoggedEvent[]): readonly LoggedEvent[] {
  const removed = new Set(heard.filter(({ type }) => type.endsWith('.deleted')).map(({ id }) => id))
  return heard.filter(({ id, type }) => type.endsWith('.deleted') || !removed.has(id))
}
