import type { EventEnvelope } from '@lcm/contract/events'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { HostedService, Logger } from '@lcm/runtime'
import type { JournalEntry, Sample } from '@lcm/store/store'
import type { Api } from '../http/api.ts'
import { STREAMS } from '../resources/journal/entries.ts'
import { decisionOf } from '../resources/journal/queries.ts'
import { sampleOf } from '../resources/worker/worker-view.ts'

const INTERVAL_MS = 1_000
/** Entries may be written slightly after their timestamp. */
const LATE_MS = 5_000
const BATCH = 1000
/** Workers that may report at once. */
const SAMPLES_MAX = 10_000
/** Events that a slow reader misses are not sent again: they are no part of any resource's state. */
const QUEUE_MAX = 200

export interface Subscription {
  /** Events since the last call. */
  take(): readonly EventEnvelope[]
  readonly onEvent: (wake: () => void) => () => void
  close(): void
}

/** Decisions and samples from all replicas, polled from the store once a second while there are subscribers. */
export interface LiveEvents {
  readonly service: HostedService
  subscribe(): Subscription
}

interface Reader {
  queue: EventEnvelope[]
  wake: () => void
}

export function liveEvents(api: Api, log: Logger): LiveEvents {
  const readers = new Set<Reader>()
  const decisions = newItems<JournalEntry>(api, entry => entry.id)
  const samples = newItems<Sample>(api, sample => `${sample.series} ${sample.at}`)

  async function poll(): Promise<void> {
    const streams = [STREAMS.decision]
    const [decided, measured] = await Promise.all([
      decisions(from => api.store.journal.query({ streams, from, limit: BATCH })),
      samples(async from => (await api.store.series.recent(from, SAMPLES_MAX)).filter(isOfWorker)),
    ])
    const events = [...[...decided].reverse().map(decisionEvent), ...batchOf(measured)]
    if (events.length > 0) for (const reader of readers) enqueue(reader, events)
  }

  /** Newest sample of each worker, in one event. */
  function batchOf(found: readonly Sample[]): EventEnvelope[] {
    if (found.length === 0) return []
    const newest = new Map(found.map(sample => [sample.series.replace(/^worker:/, ''), sampleOf(sample)]))
    const data = [...newest].map(([worker_id, sample]) => ({ worker_id, sample }))
    return [{ type: 'metrics.batch', at: toInstant(api.clock.now()), data }]
  }

  return {
    service: {
      name: 'live-events',
      async run(signal) {
        while (!signal.aborted) {
          await api.clock.sleep(INTERVAL_MS, signal)
          if (readers.size === 0 || signal.aborted) continue
          await poll().catch(err => log.warn({ err }, 'reading decisions and samples for event streams failed'))
        }
      },
    },
    subscribe() {
      const reader: Reader = { queue: [], wake: () => undefined }
      readers.add(reader)
      return {
        take: () => reader.queue.splice(0),
        onEvent(wake) {
          reader.wake = wake
          return () => readers.delete(reader)
        },
        close: () => readers.delete(reader),
      }
    },
  }
}

/** Other series share the store. */
const isOfWorker = ({ series }: Sample): boolean => series.startsWith('worker:')

const decisionEvent = (entry: JournalEntry): EventEnvelope => {
  const data = decisionOf(entry)
  return { type: 'decision', id: data.id, at: data.at, data }
}

function enqueue(reader: Reader, events: readonly EventEnvelope[]): void {
  reader.queue = [...reader.queue, ...events].slice(-QUEUE_MAX)
  reader.wake()
}

/** Reads the recent past each time and returns the items that are new. */
function newItems<T extends { at: Instant }>(api: Api, idOf: (item: T) => string) {
  let seen = new Map<string, Instant>()
  let since = toInstant(api.clock.now())
  return async (read: (from: Instant) => Promise<readonly T[]>): Promise<readonly T[]> => {
    const now = api.clock.now()
    // After the clock was set back, the new time counts: otherwise nothing would be new until it has caught up.
    const from = toInstant(Math.max(Math.min(toMs(since), now), now - LATE_MS))
    const found = await read(from)
    const fresh = found.filter(item => !seen.has(idOf(item)))
    seen = new Map(found.map(item => [idOf(item), item.at]))
    since = from
    return fresh
  }
}
