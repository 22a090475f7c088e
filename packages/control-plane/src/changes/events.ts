import { mayView } from '@lcm/contract/access'
import { type EventEnvelope, HEARTBEAT_MS, writeSse } from '@lcm/contract/events'
import { type EventResourceName, RESOURCE_KINDS } from '@lcm/contract/resource-kinds'
import type { QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { type Change, type PositionedChange, StoreError } from '@lcm/store/store'
import type { Api } from '../http/api.ts'
import { memoizePerObject } from '../http/json-page.ts'
import { collectionOf, EVENTS } from '../resources.ts'
import { type PublishedEvent, publishedEvent } from './event-visibility.ts'
import { type FeedItem, followChanges } from './feed/follow-changes.ts'
import type { LiveEvents } from './live-events.ts'
import { eventResourceOf } from './published-resources.ts'
import { redactSessionIds, seesAll } from './redaction.ts'
import { visibilityOf } from './visibility.ts'

/** All streams share the text of a change, which is encoded once. */
const TEXTS_MAX = 512

export interface EventStreams {
  /** All changes after a position, or from now on. The stream starts with a heartbeat, so that clients know it is open. */
  open(follow: Follow): AsyncGenerator<string>
}

export interface Follow {
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
    return liveEventText({ ...event, data: redactSessionIds(event.data, own) })
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
