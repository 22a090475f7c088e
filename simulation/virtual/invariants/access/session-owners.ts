import { RESOURCES } from '@lcm/control-plane/resources'
import { isFinal } from '@lcm/domain/session/lablet-session'
import type { Store } from '@lcm/store/store'

export interface SessionOwners {
  booked(session: string, person: string): void
  /** A merge was requested; `isAnswered` once it was accepted. */
  merged(from: string, into: string): void
  /** Reads the store. */
  check(): Promise<void>
}

const SESSIONS_MAX = 1_000

/** Booked sessions stay with their person, or with the one into which it was merged, and no open one is without a person. */
export function sessionOwners(store: Store, violated: (rule: string) => void): SessionOwners {
  const bookedBy = new Map<string, string>()
  const targets = new Map<string, Set<string>>()
  const collections = { sessions: store.collection(RESOURCES.sessions), people: store.collection(RESOURCES.people) }

  function mayOwn(person: string, owner: string, seen: ReadonlySet<string> = new Set()): boolean {
    if (person === owner) return true
    const next = new Set([...seen, person])
    return [...(targets.get(person) ?? [])].some(into => !next.has(into) && mayOwn(into, owner, next))
  }

  return {
    booked: (session, person) => void bookedBy.set(session, person),
    merged(from, into) {
      targets.set(from, (targets.get(from) ?? new Set()).add(into))
    },
    async check() {
      const known = new Map((await collections.sessions.list({ limit: SESSIONS_MAX })).map(each => [each.id, each]))
      for (const [id, person] of bookedBy) {
        const session = known.get(id)
        if (session === undefined) violated(`the session ${id} of ${person} is lost`)
        else if (!mayOwn(person, session.owner)) violated(`the session ${id} of ${person} belongs to ${session.owner}`)
        else if (!isFinal(session.status) && (await collections.people.get(session.owner)) === null)
          violated(`the open session ${id} belongs to ${session.owner}, who has no record`)
      }
    },
  }
}
