import { maySee } from '@lcm/contract/access'
import { type EventEnvelope, writeSse } from '@lcm/contract/events'
import type { Actor } from '@lcm/domain/actor'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../http/api.ts'
import {
  OWNS_NOTHING,
  type Ownership,
  ownershipIn,
  redactLab,
  redactWorker,
  seesAll,
  sessionsOfLab,
  sessionsOfWorker,
} from './redaction.ts'

/** A change as it is told. Every stream is told the same text, except where that would tell of others' sessions. */
export interface PublishedEvent {
  readonly type: EventEnvelope['type']
  readonly id: string
  /** Null when this listener is not told of it. */
  textFor(actor: Actor): Promise<string | null>
}

export function publishedEvent(
  api: Api,
  event: EventEnvelope,
  about: { id: string; position: string },
): PublishedEvent {
  const write = (each: EventEnvelope) => writeSse({ id: about.position, data: JSON.stringify(each) })
  const whole = write(event)
  const narrowed = narrowedOf(api, event, write)
  return {
    type: event.type,
    id: about.id,
    textFor: async actor => (seesAll(actor) || narrowed === null ? whole : narrowed(actor)),
  }
}

type Narrowed = (actor: Actor) => Promise<string | null>

/** Null where everybody may hear all of it. */
function narrowedOf(api: Api, event: EventEnvelope, write: (event: EventEnvelope) => string): Narrowed | null {
  switch (event.type) {
    case 'session.created':
    case 'session.updated':
      return async actor => (maySee(actor, event.data.owner) ? write(event) : null)
    // Of a session that is gone nobody can tell whose it was.
    case 'session.deleted':
      return async () => null
    case 'worker.created':
    case 'worker.updated': {
      const { data } = event
      return perOwner(api, sessionsOfWorker(data), own => write({ ...event, data: redactWorker(data, own) }))
    }
    case 'lab.created':
    case 'lab.updated': {
      const { id, version, at, data } = event
      // Whoever saw it while it was nobody's is told that it is gone. Which change hid it can't be told, so every later one says so.
      const gone = event.type === 'lab.created' ? null : write({ type: 'lab.deleted', id, version, at, data: null })
      return perOwner(api, sessionsOfLab(data), own => {
        const lab = redactLab(data, own)
        return lab === null ? gone : write({ ...event, data: lab })
      })
    }
    default:
      return null
  }
}

/** Worked out when the first asks who does not see all, and once for each owner; all the others share one text. */
function perOwner(api: Api, sessionIds: readonly string[], textOf: (own: Ownership) => string | null): Narrowed {
  let owners: Promise<Map<string, Ownership>> | null = null
  const texts = new Map<string, string | null>()
  return async actor => {
    owners ??= ownersOf(api, sessionIds)
    const own = (await owners).get(actor.id)
    const key = own === undefined ? '' : actor.id
    const before = texts.get(key)
    if (before !== undefined) return before
    const text = textOf(own ?? OWNS_NOTHING)
    texts.set(key, text)
    return text
  }
}

async function ownersOf(api: Api, sessionIds: readonly string[]): Promise<Map<string, Ownership>> {
  const found = await Promise.all(sessionIds.map(id => api.sessions.get(id)))
  const byOwner = new Map<string, LabletSession[]>()
  for (const session of found)
    if (session !== null) byOwner.set(session.owner, [...(byOwner.get(session.owner) ?? []), session])
  return new Map([...byOwner].map(([owner, sessions]) => [owner, ownershipIn(sessions)]))
}
