import { maySee } from '@lcm/contract/access'
import { type EventEnvelope, HEARTBEAT_MS, writeSse } from '@lcm/contract/events'
import type { QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { type Change, type PositionedChange, StoreError } from '@lcm/store/store'
import type { Api } from '../api.ts'
import { type Followed, followChanges } from '../feed/follow-changes.ts'
import type { LiveNews } from '../live-news.ts'
import { summaryOf } from './definitions.ts'
import { mayHear } from './may-hear.ts'
import { settingsView } from './settings.ts'
import { viewOf } from './workers.ts'

/** Every stream is told the same text of a change, which is made once. */
const TEXTS_MAX = 512

export interface EventStreams {
  /** All changes after a position, or from now on. It begins with a heartbeat, so that clients know it is open. */
  open(follow: Follow): AsyncGenerator<string>
}

export interface Follow {
  readonly after: string | null
  readonly query: QueryOf<'events'>
  /** Whoever listens hears of others' sessions only what they may see. */
  readonly actor: Actor
  readonly signal: AbortSignal
}

interface Told {
  readonly type: EventEnvelope['type']
  readonly id: string
  readonly text: string
  /** Whose it is; null for what everybody may see. */
  readonly owner: string | null
}

export function eventStreams(api: Api, news: LiveNews): EventStreams {
  const texts = new Map<string, Promise<Told | null>>()

  function textOf(change: PositionedChange): Promise<Told | null> {
    const key = `${change.position} ${change.kind} ${change.id} ${change.version}`
    const known = texts.get(key)
    if (known) return known
    const made = tellingOf(api, change)
    texts.set(key, made)
    made.catch(() => texts.delete(key))
    const [oldest] = texts.keys()
    if (texts.size > TEXTS_MAX && oldest !== undefined) texts.delete(oldest)
    return made
  }

  async function saidOf(
    followed: Followed,
    events: readonly EventEnvelope[],
    isWanted: (told: Told) => boolean,
  ): Promise<string[]> {
    const said = events.map(textOfNews)
    if (followed.kind === 'reset') said.push(signalText(api, 'reset'))
    const told = followed.kind === 'change' ? await textOf(followed.change) : null
    if (told && isWanted(told)) said.push(told.text)
    return said
  }

  return {
    async *open({ after, query, actor, signal }) {
      const isAsked = filterOf(query)
      const isWanted = (event: Filtered) => isAsked(event) && mayBeTold(actor, event)
      const mayHearOf = mayHear(api, actor)
      const subscription = news.subscribe()
      try {
        const from = after ?? (await api.feed.position())
        yield signalText(api, 'heartbeat')
        let spokeAt = api.clock.monotonic()
        const silentMs = () => api.clock.monotonic() - spokeAt
        const options = {
          clock: api.clock,
          signal,
          alsoWakes: subscription.onNews,
          /** What is left, so that events which nobody here wants do not put off the sign of life. */
          get idleMs() {
            return HEARTBEAT_MS - silentMs()
          },
        }
        for await (const followed of followChanges(api.feed, from, options)) {
          const news = await allowedOf(subscription.take().filter(isWanted), mayHearOf)
          const said = await saidOf(followed, news, isWanted)
          const isQuiet = said.length === 0 && silentMs() >= HEARTBEAT_MS
          for (const text of isQuiet ? [signalText(api, 'heartbeat')] : said) yield text
          if (said.length > 0 || isQuiet) spokeAt = api.clock.monotonic()
        }
      } finally {
        subscription.close()
      }
    },
  }
}

/** A filter names types or kinds. Signals always come: without them nobody could tell silence from death. */
type Filtered = EventEnvelope | Told

function filterOf({ types, id }: QueryOf<'events'>): (event: Filtered) => boolean {
  const wanted = types?.split(',')
  const isType = (type: string) => wanted?.some(each => type === each || type.startsWith(`${each}.`)) ?? true
  return event => isType(event.type) && (id === undefined || isAbout(event, id))
}

async function allowedOf(
  events: readonly EventEnvelope[],
  mayHearOf: (resource: string) => Promise<boolean>,
): Promise<EventEnvelope[]> {
  const allowed: EventEnvelope[] = []
  for (const event of events)
    if (event.type !== 'decision' || (await mayHearOf(event.data.resource))) allowed.push(event)
  return allowed
}

const mayBeTold = (actor: Actor, event: Filtered): boolean =>
  !('owner' in event) || event.owner === null || maySee(actor, event.owner)

const isAbout = (event: Filtered, id: string): boolean =>
  'data' in event && event.type === 'decision'
    ? event.data.resource.endsWith(`:${id}`)
    : 'id' in event && event.id === id

const textOfNews = (event: EventEnvelope): string => writeSse({ id: null, data: JSON.stringify(event) })

function signalText(api: Api, type: 'heartbeat' | 'reset'): string {
  const event: EventEnvelope = { type, at: toInstant(api.clock.now()) }
  return writeSse({ id: null, data: JSON.stringify(event) })
}

async function tellingOf(api: Api, change: PositionedChange): Promise<Told | null> {
  const event = await eventOf(api, change)
  if (event === null) return null
  const text = writeSse({ id: change.position, data: JSON.stringify(event) })
  return { type: event.type, id: change.id, text, owner: ownerOf(event) }
}

/** Of a session that is gone nobody can tell whose it was, so that only those hear of it who see all. */
function ownerOf(event: EventEnvelope): string | null {
  if (event.type === 'session.deleted') return ''
  return event.type === 'session.created' || event.type === 'session.updated' ? event.data.owner : null
}

/**
 * What happened is told by the change alone, so that every replica tells the same at the same position. The document comes
 * with it as it is now: it may be newer than the change, never older. Null when a later change will tell.
 */
export async function eventOf(api: Api, change: Change): Promise<EventEnvelope | null> {
  switch (change.kind) {
    case 'worker': {
      if (change.deleted) return { type: 'worker.deleted', ...deleted(api, change) }
      const data = notOlder(await api.workers.get(change.id), change)
      const type = change.version === 1 ? 'worker.created' : 'worker.updated'
      return data && { type, ...about(change, data), data: await viewOf(api, data) }
    }
    case 'template': {
      if (change.deleted) return { type: 'template.deleted', ...deleted(api, change) }
      const data = notOlder(await api.templates.get(change.id), change)
      const type = change.version === 1 ? 'template.created' : 'template.updated'
      return data && { type, ...about(change, data), data }
    }
    case 'settings': {
      const data = notOlder(await api.settings.get(change.id), change)
      const type = change.version === 1 ? 'settings.created' : 'settings.updated'
      return data && { type, ...about(change, data), data: settingsView(api, data) }
    }
    case 'definition': {
      if (change.deleted) return { type: 'definition.deleted', ...deleted(api, change) }
      const data = notOlder(await api.definitions.get(change.id), change)
      const type = change.version === 1 ? 'definition.created' : 'definition.updated'
      return data && { type, ...about(change, data), data: summaryOf(data) }
    }
    case 'session': {
      if (change.deleted) return { type: 'session.deleted', ...deleted(api, change) }
      const data = notOlder(await api.sessions.get(change.id), change)
      const type = change.version === 1 ? 'session.created' : 'session.updated'
      return data && { type, ...about(change, data), data }
    }
    case 'lab_record': {
      if (change.deleted) return { type: 'lab.deleted', ...deleted(api, change) }
      const data = notOlder(await api.labs.get(change.id), change)
      const type = change.version === 1 ? 'lab.created' : 'lab.updated'
      return data && { type, ...about(change, data), data }
    }
    default:
      return null
  }
}

/** A reader that lags behind the writer must not tell an old version as news: the stream ends, and is resumed. */
function notOlder<T extends { version: number }>(document: T | null, change: Change): T | null {
  if (document !== null && document.version < change.version)
    throw new StoreError(`${change.kind} ${change.id} is not yet at version ${change.version} here`)
  return document
}

const about = ({ id, version }: Change, { updated_at: at }: { updated_at: string }) => ({ id, version, at })
const deleted = (api: Api, { id, version }: Change) => ({ id, version, at: toInstant(api.clock.now()), data: null })
