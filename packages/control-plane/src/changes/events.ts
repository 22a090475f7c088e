import { type EventEnvelope, HEARTBEAT_MS, writeSse } from '@lcm/contract/events'
import { type EventResourceName, RESOURCE_KINDS } from '@lcm/contract/resource-kinds'
import { mayView } from '@lcm/contract/route-spec'
import type { QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { HostedService, Logger } from '@lcm/runtime'
import { type Change, type JournalEntry, type PositionedChange, type Sample, StoreError } from '@lcm/store/store'
import type { Api } from '../api-context.ts'
import { memoizePerObject } from '../http/json-page.ts'
import { narrowDecision, sessionDecisionFor } from '../narrow-view.ts'
import { redactSessionIds } from '../redact-session-ids.ts'
import { STREAMS } from '../resources/journal/entries.ts'
import { decisionOf } from '../resources/journal/queries.ts'
import { sampleOf } from '../resources/worker/worker-view.ts'
import { collectionOf, EVENTS } from '../resources.ts'
import { seesAll, visibilityOf } from '../visibility.ts'
import { eventResourceOf } from './announcer.ts'
import { type FeedItem, followChanges } from './feed/follow-changes.ts'
import { type PublishedEvent, publishedEvent } from './published-event.ts'

/** All streams share the text of a change, which is encoded once. */
const TEXTS_MAX = 512

export interface EventStreams {
  /** All changes after a position, or from now on. The stream starts with a heartbeat, so that clients know it is open. */
  open(follow: Follow): AsyncGenerator<string>
}

interface Follow {
  readonly after: string | null
  readonly query: QueryOf<'events'>
  /** Receives of other owners' sessions only what it may see. */
  readonly actor: Actor
  readonly signal: AbortSignal
}

type DecisionEvent = Extract<EventEnvelope, { type: 'decision' }>

export function eventStreams(api: Api, live: LiveEvents): EventStreams {
  const texts = new Map<string, Promise<PublishedEvent | null>>()

  function textOf(change: PositionedChange): Promise<PublishedEvent | null> {
    const key = `${change.position} ${change.kind} ${change.id} ${change.version}`
    const known = texts.get(key)
    if (known) return known
    const text = publish(api, change)
    texts.set(key, text)
    text.catch(() => texts.delete(key))
    const [oldest] = texts.keys()
    if (texts.size > TEXTS_MAX && oldest !== undefined) texts.delete(oldest)
    return text
  }

  /** All streams receive the same decision, so its visibility is looked up once. */
  const visibility = memoizePerObject((event: DecisionEvent) => visibilityOf(api, event.data.resource))

  async function liveEventFor(event: EventEnvelope, actor: Actor): Promise<string | null> {
    if (event.type !== 'decision' || seesAll(actor)) return liveEventText(event)
    const { owner, own } = await visibility(event)
    if (owner !== null && !mayView(actor, owner)) return null
    const data = owner === null ? narrowDecision(event.data) : sessionDecisionFor(actor, event.data)
    return liveEventText({ ...event, data: redactSessionIds(data, own) })
  }

  async function textsOf(
    followed: FeedItem,
    events: readonly EventEnvelope[],
    { actor, isWanted }: { actor: Actor; isWanted: (event: Filtered) => boolean },
  ): Promise<string[]> {
    const sent: (string | null)[] = []
    for (const event of events) if (isWanted(event)) sent.push(await liveEventFor(event, actor))
    if (followed.kind === 'reset') sent.push(signalText(api, 'reset'))
    const event = followed.kind === 'change' ? await textOf(followed.change) : null
    if (event && isWanted(event)) sent.push(await event.textFor(actor))
    return sent.filter(text => text !== null)
  }

  return {
    async *open({ after, query, actor, signal }) {
      const isWanted = filterOf(query)
      const subscription = live.subscribe()
      try {
        const from = after ?? (await api.feed.position())
        yield signalText(api, 'heartbeat')
        let sentAt = api.clock.monotonic()
        const silentMs = () => api.clock.monotonic() - sentAt
        const options = {
          clock: api.clock,
          signal,
          onOtherWake: subscription.onEvent,
          /** The rest of the interval, so that filtered events don't delay the heartbeat. */
          get idleMs() {
            return HEARTBEAT_MS - silentMs()
          },
        }
        for await (const followed of followChanges(api.feed, from, options)) {
          const sent = await textsOf(followed, subscription.take(), { actor, isWanted })
          const isQuiet = sent.length === 0 && silentMs() >= HEARTBEAT_MS
          for (const text of isQuiet ? [signalText(api, 'heartbeat')] : sent) yield text
          if (sent.length > 0 || isQuiet) sentAt = api.clock.monotonic()
        }
      } finally {
        subscription.close()
      }
    },
  }
}

/** A filter names types or kinds. Heartbeats and resets pass always: without them a client can't detect a dead stream. */
type Filtered = EventEnvelope | PublishedEvent

function filterOf({ types, id }: QueryOf<'events'>): (event: Filtered) => boolean {
  const wanted = types?.split(',')
  const isType = (type: string) => wanted?.some(each => type === each || type.startsWith(`${each}.`)) ?? true
  return event => isType(event.type) && (id === undefined || isAbout(event, id))
}

const isAbout = (event: Filtered, id: string): boolean =>
  'data' in event && event.type === 'decision'
    ? event.data.resource.endsWith(`:${id}`)
    : 'id' in event && event.id === id

const liveEventText = (event: EventEnvelope): string => writeSse({ id: null, data: JSON.stringify(event) })

function signalText(api: Api, type: 'heartbeat' | 'reset'): string {
  const event: EventEnvelope = { type, at: toInstant(api.clock.now()) }
  return writeSse({ id: null, data: JSON.stringify(event) })
}

async function publish(api: Api, change: PositionedChange): Promise<PublishedEvent | null> {
  const event = await eventOf(api, change)
  return event && publishedEvent(api, event, change)
}

/**
 * The change alone decides the type of its event, so that all replicas send the same at the same position. The data is the
 * document as it is now: it may be newer than the change, never older. Null when a later change will be published.
 */
export async function eventOf(api: Api, change: Change): Promise<EventEnvelope | null> {
  const name = eventResourceOf(change.kind)
  return name === undefined ? null : resourceEvent(api, name, change)
}

async function resourceEvent<N extends EventResourceName>(
  api: Api,
  name: N,
  change: Change,
): Promise<EventEnvelope | null> {
  const { id, version } = change
  const { name: prefix, isDeletable } = RESOURCE_KINDS[name].event
  if (change.deleted) {
    const event = { type: `${prefix}.deleted`, id, version, at: toInstant(api.clock.now()), data: null }
    return isDeletable ? (event as EventEnvelope) : null
  }
  const collection = collectionOf(api, name)
  const document = await collection.get(id)
  if (document === null) return null
  const { version: current, at, data } = await EVENTS[name].snapshot(api, document)
  refuseOlder(current, change)
  return { type: `${prefix}.${version === 1 ? 'created' : 'updated'}`, id, version, at, data } as EventEnvelope
}

/** A replica whose store lags behind must not publish an old version: the stream ends, and the client resumes it. */
function refuseOlder(version: number, change: Change): void {
  if (version < change.version)
    throw new StoreError(`${change.kind} ${change.id} is not yet at version ${change.version} here`)
}

const INTERVAL_MS = 1_000
/** Entries may be written slightly after their timestamp. */
const LATE_MS = 5_000
const BATCH = 1000
/** Workers that may report at once. */
const SAMPLES_MAX = 10_000
/** Events that a slow reader misses are not sent again: they are no part of any resource's state. */
const QUEUE_MAX = 200

interface Subscription {
  /** Events since the last call. */
  take(): readonly EventEnvelope[]
  readonly onEvent: (wake: () => void) => () => void
  close(): void
}

/** Decisions and samples from all replicas, polled from the store once a second while there are subscribers. */
interface LiveEvents {
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
