import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import { toInstant, toMs } from '@lcm/domain/instant'
import { commonRole } from '@lcm/domain/person'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection } from '@lcm/store/store'
import { idOfSecret, randomText, sameSecret } from '../crypto.ts'
import type { BrowserSession } from '../internal-documents.ts'
import { listAll } from '../resources/list-documents.ts'
import type { AccessAudit } from './access-audit.ts'
import type { Cookies } from './cookies.ts'
import type { Credentials } from './credentials.ts'
import { boundedMap } from './rate-limiter.ts'
import { originOf } from './request-origin.ts'

const SESSION_MS = 12 * 60 * 60_000
/** Longest time that an ended session still works on other replicas. */
const CACHE_MS = 1_000
const CACHE_MAX = 1_000
/** Per actor. */
const SESSIONS_MAX = 100
const SECRET_BYTES = 32
const SECRET = /^[\w-]{43}$/
const COOKIE = 'lcm_session'

export interface SignIn extends Pick<BrowserSession, 'signed_in_by' | 'credential' | 'provider'> {
  readonly actor: Actor
  readonly lifeMs?: number
}

export interface BrowserSessions {
  /** Secret in the cookie of a request; null for none, or for one that LCM did not make. */
  secretOf(request: ApiRequest): string | null
  /** Stores a session and returns the cookie of its browser. */
  begin(request: ApiRequest, signIn: SignIn): Promise<string>
  /** The session with this secret, unless it has ended. */
  find(secret: string): Promise<BrowserSession | null>
  /** Stores a changed session; false after a concurrent change or its end. */
  replace(session: BrowserSession): Promise<boolean>
  /** Ends the session of this browser, and returns the cookie that deletes its own. */
  signOut(request: ApiRequest): Promise<string>
  /** Ends a session at once here, and within a second on other replicas. */
  end(id: string, request: ApiRequest | null, reason: string): Promise<void>
  /** Ends the sessions of every browser. */
  endAll(reason: string): Promise<void>
}

export function browserSessions(parts: {
  clock: Clock
  randomBytes: (size: number) => Uint8Array
  sessions: Collection<BrowserSession>
  cookies: Cookies
  audit: AccessAudit
}): BrowserSessions {
  const { clock, sessions, cookies, audit } = parts
  const cache = sessionCache(parts)
  const cookie = (request: ApiRequest, value: string, maxAgeMs: number) =>
    cookies.write(request, { stem: COOKIE, value, sameSite: 'Strict', maxAgeMs })

  const secretOf = (request: ApiRequest) => secretIn(cookies.read(request, COOKIE))

  /** The oldest sessions of an actor end when it has too many. */
  async function endOldest(actorId: string): Promise<void> {
    const own = await listAll(sessions, { where: { actor_id: actorId } })
    const oldestFirst = own.toSorted((a, b) => a.created_at.localeCompare(b.created_at))
    for (const { id } of oldestFirst.slice(0, Math.max(0, own.length - (SESSIONS_MAX - 1))))
      await end(id, null, 'too many sessions')
  }

  async function end(id: string, request: ApiRequest | null, reason: string): Promise<void> {
    const origin = request && originOf(request)
    for (;;) {
      const session = await sessions.get(id)
      if (session === null) break
      const entry = audit.entry({ ...session.actor, service: null }, 'logout', { origin, reason })
      if ((await sessions.remove(session, [entry])).ok) break
    }
    cache.forget(id)
  }

  async function endOwn(request: ApiRequest, reason: string): Promise<void> {
    const secret = secretOf(request)
    if (secret !== null) await end(idOfSecret(secret), request, reason)
  }

  return {
    secretOf,
    end,
    async endAll(reason) {
      for (const { id } of await listAll(sessions, {})) await end(id, null, reason)
    },
    async begin(request, signIn) {
      await endOwn(request, 'another sign-in in this browser')
      await endOldest(signIn.actor.id)
      const secret = randomText(parts.randomBytes, SECRET_BYTES)
      const origin = originOf(request)
      const session = { ...newSession(signIn, clock.now()), id: idOfSecret(secret), ...origin }
      const entry = audit.entry(signIn.actor, 'login', { origin, facts: { signed_in_by: signIn.signed_in_by } })
      if (!(await sessions.insert(session, [entry])).ok)
        throw new ProblemError('store_unavailable', 'the new session was taken; try again')
      return cookie(request, secret, SESSION_MS)
    },
    async find(secret) {
      const session = await cache.get(idOfSecret(secret))
      return session === null || toMs(session.expires_at) <= clock.now() ? null : session
    },
    async replace(session) {
      const { ok } = await sessions.replace(session)
      if (ok) cache.forget(session.id)
      return ok
    },
    async signOut(request) {
      await endOwn(request, '')
      return cookie(request, '', 0)
    },
  }
}

const secretIn = (cookie: string | null): string | null => (cookie !== null && SECRET.test(cookie) ? cookie : null)

const newSession = ({ actor, signed_in_by, credential, provider, lifeMs = SESSION_MS }: SignIn, nowMs: number) => ({
  version: 1,
  created_at: toInstant(nowMs),
  expires_at: toInstant(Math.min(nowMs + lifeMs, actor.expires_at === undefined ? Infinity : toMs(actor.expires_at))),
  actor: { id: actor.id, name: actor.name, role: actor.role },
  signed_in_by,
  credential,
  provider,
})

/** Sessions as they were at most a second ago. */
function sessionCache({ clock, sessions }: { clock: Clock; sessions: Collection<BrowserSession> }) {
  const reads = boundedMap<{ readonly session: Promise<BrowserSession | null>; readonly sinceMs: number }>(CACHE_MAX)
  return {
    forget: reads.delete,
    async get(id: string): Promise<BrowserSession | null> {
      const known = reads.get(id)
      if (known && clock.monotonic() - known.sinceMs < CACHE_MS) return known.session
      const read = { session: sessions.get(id), sinceMs: clock.monotonic() }
      reads.set(id, read)
      try {
        return await read.session
      } catch (error) {
        if (reads.get(id) === read) reads.delete(id)
        throw error
      }
    },
  }
}

/** Actor of a session as of now, with no more than the role of its sign-in; null when the sign-ins of its person were ended. */
export async function actorOfSession(
  { actor, credential }: BrowserSession,
  known: Pick<Credentials, 'keyOf' | 'currentActor'>,
): Promise<Actor | null> {
  const [key, current] = await Promise.all([known.keyOf(actor.id), known.currentActor(actor.id)])
  if (key === null || current === null || !sameSecret(key, credential)) return null
  if (actor.role === 'controller' || current.role === 'controller') return null
  return { ...current, role: commonRole(actor.role, current.role) }
}
