import { changedData, type EventEnvelope, writeSse } from '@lcm/contract/events'
import { type EventData, type EventResourceName, RESOURCE_KINDS } from '@lcm/contract/resource-kinds'
import { mayView } from '@lcm/contract/route-spec'
import type { Actor, Role } from '@lcm/domain/actor'
import type { ReasonCode } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { PositionedChange } from '@lcm/store/store'
import type { Api } from '../api-context.ts'
import { STREAMS } from '../resources/journal/entries.ts'
import { storedReason } from '../resources/journal/queries.ts'
import { EVENTS, type EventVisibility } from '../resources.ts'
import { OWNS_NOTHING, type Ownership, ownershipIn, seesAll } from '../visibility.ts'
import { eventResourceOf } from './announcer.ts'

/** Transitions of one resource that are searched. */
const TRANSITIONS_MAX = 1_000

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
  if (visibility.kind === 'by_role')
    return data === null ? null : textPerRole(actor => write(withData(event, visibility.narrow(data, actor))))
  if (visibility.kind === 'owner')
    return async actor => {
      const owner = data === null ? await ownerOfRemoved(api, name, event) : visibility.owner(data)
      if (owner === null || !mayView(actor, owner)) return null
      return write(data === null ? event : withData(event, visibility.narrow(data, actor)))
    }
  const { shownSince } = visibility
  if (data === null)
    return shownSince === null ? null : textIf(() => hadTransition(api, name, event, shownSince), write(event))
  // An actor that saw the lab before it belonged to a session is sent its deletion, with this and every later change.
  const gone = visibility.wasShown(data) ? write(deletionOf(name, event)) : null
  return textPerOwner(api, visibility.sessions(data), own => {
    const redacted = visibility.redact(data, own)
    return redacted === null ? gone : write(withData(event, redacted))
  })
}

const withData = (event: EventEnvelope, data: unknown): EventEnvelope => ({ ...event, data }) as EventEnvelope

/** Computed at the first use, once per role. */
function textPerRole(textOf: (actor: Actor) => string): TextFor {
  const texts = new Map<Role, string>()
  return async actor => {
    const text = texts.get(actor.role) ?? textOf(actor)
    texts.set(actor.role, text)
    return text
  }
}

/** Whether a deleted resource once had a transition for this reason. The journal outlives it. */
async function hadTransition(
  { store }: Api,
  name: EventResourceName,
  event: EventEnvelope,
  code: ReasonCode,
): Promise<boolean> {
  if (!('id' in event)) return false
  const subject = `${RESOURCE_KINDS[name].kind}:${event.id}`
  const moves = await store.journal.query({ streams: [STREAMS.transition], subject, limit: TRANSITIONS_MAX })
  return moves.some(({ body }) => storedReason(body).code === code)
}

/** From the journal, because the document is gone; null for kinds that don't write it there. */
async function ownerOfRemoved({ store }: Api, name: EventResourceName, event: EventEnvelope): Promise<string | null> {
  if (!('id' in event)) return null
  const subject = `${RESOURCE_KINDS[name].kind}:${event.id}`
  const [removal] = await store.journal.query({ streams: [STREAMS.removal], subject, limit: 1 })
  const { owner } = Object(removal?.body)
  return typeof owner === 'string' ? owner : null
}

/** One text for all actors, if the condition holds, which is checked at the first use. */
function textIf(isShown: () => Promise<boolean>, text: string): TextFor {
  let checked: Promise<boolean> | null = null
  return async () => {
    checked ??= isShown()
    return (await checked) ? text : null
  }
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
