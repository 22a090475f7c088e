import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import { toInstant, toMs } from '@lcm/domain/instant'
import { commonRole, isSignedOut, type Person } from '@lcm/domain/person'
import type { Token } from '@lcm/domain/token'
import type { Clock } from '@lcm/runtime/clock'
import { sha256 } from '../crypto.ts'
import { boundedMap } from './rate-limiter.ts'

/** Longest time that a revoked token or an old role still works on other replicas. */
const CACHE_MS = 1_000
const CACHE_MAX = 1_000
/** Longer than the cache of tokens. */
const SETTLE_MS = 3 * CACHE_MS
/** Format of `POST /tokens`; other secrets are refused without a store read. */
const STORED_SECRET = /^lcm_[\w-]{43}$/

export interface Credentials {
  /** Registers a token of this process. */
  grant(secret: string, actor: Actor): void
  granted(secret: string): Actor | null
  /** People of registered tokens. */
  builtInPeople(): readonly Actor[]
  /** Actor of a token in the store: its person, with no more than the role of the token. */
  stored(secret: string): Promise<Actor | null>
  person(id: string): Promise<Person | null>
  /** The actor as of now; null after its person was removed. */
  currentActor(actorId: string): Promise<Actor | null>
  /** Key of the sign-ins of an actor: they end when it changes. Null when the actor is unknown. */
  keyOf(actorId: string): Promise<string | null>
  /**
   * Key for a new sign-in, as the store has it. Null when the actor is unknown. Refuses the bearer of a token just after all
   * sign-ins were ended: this replica may not know yet that the token was revoked.
   */
  newKeyOf(actorId: string, proof: 'token' | 'invitation'): Promise<string | null>
  /** Drops the caches after a token or person was changed in this process. */
  forget(): void
}

/** Tokens from the start of the process, and tokens and people in the store. Tokens are found by hash: timing reveals nothing. */
export function credentials(options: {
  clock: Clock
  findToken: (secret: string) => Promise<Token | null>
  getPerson: (id: string) => Promise<Person | null>
}): Credentials {
  const { clock } = options
  const actors = new Map<string, Actor>()
  const byId = new Map<string, { readonly actor: Actor; readonly key: string }>()
  const tokens = cachedReads<Token>(clock)
  const people = cachedReads<Person>(clock)

  const person = (id: string) => people.get(id, () => options.getPerson(id))
  /** Someone who is being merged acts as the other person only. */
  const unlessMerging = (found: Person | null) => (found?.merging_into === null ? found : null)
  const usablePerson = async (id: string) => unlessMerging(await person(id))
  const findToken = (secret: string) => tokens.get(sha256(secret), () => options.findToken(secret))

  function keyIn(id: string, found: Person | null): string | null {
    const builtIn = byId.get(id)
    if (builtIn !== undefined) return `${builtIn.key} ${found?.signed_out_at ?? ''}`
    const usable = unlessMerging(found)
    return usable && personKey(usable)
  }

  return {
    person,
    grant(secret, actor) {
      const hash = sha256(secret)
      actors.set(hash, actor)
      byId.set(actor.id, { actor, key: sha256(hash).slice(0, 16) })
    },
    granted: secret => actors.get(sha256(secret)) ?? null,
    builtInPeople: () => [...byId.values()].flatMap(({ actor }) => (actor.service === null ? [actor] : [])),
    async stored(secret) {
      if (!STORED_SECRET.test(secret)) return null
      const token = await findToken(secret)
      return token === null || isExpired(token, clock.now()) ? null : actorOf(token, usablePerson)
    },
    async currentActor(id) {
      const builtIn = byId.get(id)
      if (builtIn !== undefined) return builtIn.actor
      const found = await usablePerson(id)
      return found && { id, name: found.name, role: found.role, service: null }
    },
    keyOf: async id => keyIn(id, await person(id)),
    async newKeyOf(id, proof) {
      const found = await options.getPerson(id)
      if (proof === 'token' && found !== null && isSignedOut(found, toInstant(clock.now() - SETTLE_MS)))
        throw new ProblemError('sign_ins_just_ended', `all sign-ins of ${found.name} were just ended`, undefined, {
          retryAfterSeconds: SETTLE_MS / 1_000,
        })
      return keyIn(id, found)
    },
    forget() {
      tokens.clear()
      people.clear()
    },
  }
}

/** Changes with the role and with every revocation; a person that was removed and comes back has another one. */
export const personKey = ({ role, created_at, signed_out_at }: Person): string =>
  `${role} ${created_at} ${signed_out_at ?? ''}`

const isExpired = ({ expires_at }: Token, nowMs: number): boolean => expires_at !== null && toMs(expires_at) <= nowMs

async function actorOf(
  { id, name, role, service, person_id, expires_at }: Token,
  findPerson: (id: string) => Promise<Person | null>,
): Promise<Actor | null> {
  if (role === 'controller') return { id: `token:${id}`, name, role, service }
  const person = person_id === null ? null : await findPerson(person_id)
  if (person === null) return null
  const actor: Actor = { id: person.id, name: person.name, role: commonRole(role, person.role), service: null }
  return expires_at === null ? actor : { ...actor, expires_at }
}

interface Lookup<T> {
  readonly found: Promise<T | null>
  readonly sinceMs: number
}

/** Reads of the store, each shared for a second. A failed one is repeated. */
function cachedReads<T>(clock: Clock) {
  const lookups = boundedMap<Lookup<T>>(CACHE_MAX)
  return {
    clear: () => lookups.clear(),
    async get(key: string, read: () => Promise<T | null>): Promise<T | null> {
      const known = lookups.get(key)
      if (known && clock.monotonic() - known.sinceMs < CACHE_MS) return known.found
      const lookup = { found: read(), sinceMs: clock.monotonic() }
      lookups.set(key, lookup)
      try {
        return await lookup.found
      } catch (error) {
        if (lookups.get(key) === lookup) lookups.delete(key)
        throw error
      }
    },
  }
}
