import { changedData, type EventEnvelope, writeSse } from '@lcm/contract/events'
import { type EventData, type EventResourceName, RESOURCE_KINDS } from '@lcm/contract/resource-kinds'
import { mayView } from '@lcm/contract/route'
import type { Actor } from '@lcm/domain/actor'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { PositionedChange } from '@lcm/store/store'
import type { Api } from '../http/api.ts'
import { listAll } from '../resources/list-documents.ts'
import { EVENTS, type EventVisibility, OWNS_NOTHING, type Ownership, ownershipIn, seesAll } from '../resources.ts'
import { eventResourceOf } from './announcer.ts'

/** Null for an actor that sees everything: nothing is redacted. */
export const ownershipOf = async (api: Api, actor: Actor): Promise<Ownership | null> =>
  seesAll(actor) ? null : ownershipIn(await listAll(api.sessions, { where: { owner: actor.id } }))

/** Audience of a decision or planned action. */
interface Visibility {
  /** Owner of its session; null when it is public. */
  readonly owner: string | null
  /** Parts of it that the owner may see. */
  readonly own: Ownership
}

const PUBLIC: Visibility = { owner: null, own: OWNS_NOTHING }
/** The owner of a deleted resource is unknown, so only actors that see everything receive it. */
const UNKNOWN: Visibility = { owner: '', own: OWNS_NOTHING }

/** For a resource such as `session:ls-1`. A lab is as private as its session. */
export async function visibilityOf(api: Api, resource: string): Promise<Visibility> {
  const [kind, id = ''] = resource.split(':')
  if (kind === 'session') return visibilityOfSession(await api.sessions.get(id))
  if (kind !== 'lab_record') return PUBLIC
  const lab = await api.labs.get(id)
  if (lab === null) return UNKNOWN
  return lab.session_id === null ? PUBLIC : visibilityOfSession(await api.sessions.get(lab.session_id))
}

const visibilityOfSession = (session: LabletSession | null): Visibility =>
  session === null ? UNKNOWN : { owner: session.owner, own: ownershipIn([session]) }

/** An event as streams send it. All streams share one text, except where it would show sessions of others. */
export interface PublishedEvent {
  readonly type: EventEnvelope['type']
  readonly id: string
  /** Null when the actor may not receive the event. */
  textFor(actor: Actor): Promise<string | null>
}

type TextFor = (actor: Actor) => Promise<string | null>
type Write = (event: EventEnvelope) => string

export function publishedEvent(api: Api, event: EventEnvelope, change: PositionedChange): PublishedEvent {
  const write = (each: EventEnvelope) => writeSse({ id: change.position, data: JSON.stringify(each) })
  const whole = write(event)
  const name = eventResourceOf(change.kind)
  const narrowed = name === undefined ? null : narrowedText(api, name, event, write)
  return {
    type: event.type,
    id: change.id,
    textFor: async actor => (seesAll(actor) || narrowed === null ? whole : narrowed(actor)),
  }
}

/** Text for actors that may not see every session; null when all of the event is public. */
function narrowedText<N extends EventResourceName>(
  api: Api,
  name: N,
  event: EventEnvelope,
  write: Write,
): TextFor | null {
  const visibility: EventVisibility<EventData<N>> = EVENTS[name].visibility
  const data = changedData(name, event)
  if (visibility.kind === 'public') return null
  if (visibility.kind === 'owner')
    return async actor => (data !== null && mayView(actor, visibility.owner(data)) ? write(event) : null)
  if (data === null) return null
  // An actor that saw the lab before it belonged to a session is sent its deletion, with this and every later change.
  const gone = event.type.endsWith('.created') ? null : write(deletionOf(name, event))
  return textPerOwner(api, visibility.sessions(data), own => {
    const redacted = visibility.redact(data, own)
    return redacted === null ? gone : write({ ...event, data: redacted } as EventEnvelope)
  })
}

const deletionOf = (name: EventResourceName, event: EventEnvelope): EventEnvelope =>
  ({ ...event, type: `${RESOURCE_KINDS[name].event.name}.deleted`, data: null }) as EventEnvelope

/** Computed at the first use, once per owner; actors that own nothing in it share one text. */
function textPerOwner(api: Api, sessionIds: readonly string[], textOf: (own: Ownership) => string | null): TextFor {
  let owners: Promise<Map<string, Ownership>> | null = null
  const texts = new Map<string, string | null>()
  return async actor => {
    owners ??= ownersOf(api, sessionIds)
    const own = (await owners).get(actor.id)
    const key = own === undefined ? '' : actor.id
    const known = texts.get(key)
    if (known !== undefined) return known
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
