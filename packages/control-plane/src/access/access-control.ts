import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import type { Person } from '@lcm/domain/person'
import type { Token } from '@lcm/domain/token'
import { type LinkedAbort, type Logger, linkedAbort } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Store } from '@lcm/store/store'
import type { Sealing } from '../crypto.ts'
import { RESOURCES } from '../resources.ts'
import { type AccessAudit, accessAudit } from './access-audit.ts'
import { type BrowserLogin, browserLogin } from './browser-login.ts'
import { actorOfSession, type BrowserSessions, browserSessions } from './browser-sessions.ts'
import { cookies } from './cookies.ts'
import { type Credentials, credentials } from './credentials.ts'
import { type FailedAttempts, failedAttempts } from './failed-attempts.ts'
import type { Fetch } from './fetch-json.ts'
import { type IdentityProvider, identityProvider, type OidcConfig } from './identity-provider.ts'
import { loginCodes } from './login-codes.ts'
import { type ProviderLogin, providerLogin } from './provider-login.ts'
import { type RecordedPerson, type RecordSignIn, recordingProvider } from './provider-people.ts'
import { type ProviderSessions, providerSessions } from './provider-sessions.ts'
import { refuseForeignOrigin } from './public-address.ts'
import { ACCESS_LIMITS, type AccessLimits, rateLimiter } from './rate-limiter.ts'
import type { RequestOrigin } from './request-origin.ts'
import { signInCookie } from './sign-in-cookie.ts'

const SIGN_IN = '/login/provider'
const BEARER = /^Bearer ([\x21-\x7e]{1,8192})$/i
/** Three base64url parts; the first is JSON. */
const JWT = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/

export interface AccessControl {
  /** Registers a token. Only its hash is stored. */
  grant(token: string, actor: Actor): void
  /** People of registered tokens. */
  builtInPeople(): readonly Actor[]
  /** Returns the actor of a request. Refuses unknown callers, browsers sent by another site and callers over the rate limit. */
  identify(request: ApiRequest): Promise<Actor>
  /** Checks a request that was admitted before and is still being answered. It counts against no limit. */
  recheck(request: ApiRequest): Promise<Actor>
  /** Creates a code that logs in one browser once, as this actor. */
  createLoginCode(actor: Actor, origin?: RequestOrigin): Promise<string>
  /** Creates a code for a person whom another one invited. */
  createInvitation(person: Actor): Promise<string>
  /** Drops cached tokens and people after a change. */
  forgetCredentials(): void
  /** Signs every browser out. */
  endSessions(reason: string): Promise<void>
  readonly browser: BrowserLogin
  /** Sign-in with the identity provider. */
  readonly provider: ProviderLogin
  /** Records refusals, and counts them. */
  readonly audit: AccessAudit
}

export interface AccessSetting {
  /** Sign-in through an identity provider. */
  readonly oidc?: OidcConfig | null
  /** Address of the console in browsers, when it differs from the address of the server. */
  readonly publicUrl?: string | null
  readonly limits?: Partial<AccessLimits>
  readonly fetch?: Fetch
}

interface AccessParts extends AccessSetting {
  readonly clock: Clock
  readonly store: Store
  readonly log: Logger
  readonly randomBytes: (size: number) => Uint8Array
  /** Seals cookies and refresh tokens of the identity provider; both end when their key is removed. */
  readonly sealing: Sealing
  findToken(secret: string): Promise<Token | null>
  getPerson(id: string): Promise<Person | null>
  readonly recordSignIn: RecordSignIn
}

export function accessControl(parts: AccessParts): AccessControl {
  const { clock, store, oidc = null, publicUrl = null } = parts
  const limits = { ...ACCESS_LIMITS, ...parts.limits }
  const audit = accessAudit({ ...parts, journal: store.journal })
  const attempts = failedAttempts({ clock, limits, onRefused: audit.refused })
  const rate = rateLimiter(clock, limits)
  const known = credentials(parts)
  const codes = loginCodes({ ...parts, codes: store.collection(RESOURCES.loginCodes), audit, known })
  const provider =
    oidc && recordingProvider(identityProvider(oidc, { ...parts, fetch: parts.fetch ?? fetch }), { ...parts, known })
  const shared = { ...parts, cookies: cookies(publicUrl), known }
  const stored = store.collection(RESOURCES.browserSessions)
  const sessions = browserSessions({ ...shared, audit, sessions: stored })
  const used = store.collection(RESOURCES.idempotentRequests)
  const ofProvider = providerSessions({ ...shared, provider, browserSessions: sessions })
  const callers = { known, provider, sessions, ofProvider, attempts, audit, publicUrl }

  return {
    audit,
    grant: known.grant,
    builtInPeople: known.builtInPeople,
    forgetCredentials: known.forget,
    endSessions: sessions.endAll,
    createLoginCode: (actor, origin) => codes.create(actor, origin ?? null, 'token'),
    createInvitation: person => codes.create(person, null, 'invitation'),
    recheck: ({ remote: _, ...request }) => callerOf(callers, request),
    async identify(request) {
      const actor = await callerOf(callers, request)
      if (request.remote !== undefined) rate.take(actor, Buffer.byteLength(request.body ?? ''))
      return actor
    },
    browser: browserLogin({ ...callers, codes, actorOf: token => tokenBearer(known, token) }),
    provider: providerLogin({ ...parts, ...callers, stored, used, signIns: signInCookie(shared) }),
  }
}

interface Callers {
  readonly known: Credentials
  readonly provider: IdentityProvider<RecordedPerson> | null
  readonly sessions: BrowserSessions
  readonly ofProvider: ProviderSessions
  readonly attempts: FailedAttempts
  readonly audit: AccessAudit
  readonly publicUrl: string | null
}

async function callerOf(callers: Callers, request: ApiRequest): Promise<Actor> {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const token = BEARER.exec(authorization)?.[1] ?? ''
    return callers.attempts.check(request, token, 'wrong_token', () => bearer(callers, token))
  }
  const actor = await browserOf(callers, request)
  if (actor === null) throw signedOut(callers.provider)
  if (request.method !== 'GET') refuseForeignOrigin(request, callers)
  return actor
}

function signedOut(provider: object | null): ProblemError {
  const [how, advice] = provider ? [`sign in at ${SIGN_IN}`, { signIn: SIGN_IN }] : ['open a login link: lcm open', {}]
  return new ProblemError('unauthenticated', `send a bearer token, or ${how}`, undefined, advice)
}

/** Actor of the browser session of a request, as of now. */
async function browserOf({ sessions, attempts, ...callers }: Callers, request: ApiRequest): Promise<Actor | null> {
  const secret = sessions.secretOf(request)
  const session = secret === null ? null : await attempts.find(request, secret, () => sessions.find(secret))
  const actor = session && (await actorOfSession(session, callers.known))
  // First, because a confirmation must not revive a session that was ended.
  if (actor === null || session?.provider == null) return actor
  const confirmed = await callers.ofProvider.current(session)
  return confirmed && actorOfSession(confirmed, callers.known)
}

const bearer = async ({ known, provider }: Callers, token: string): Promise<Actor> =>
  provider && JWT.test(token) ? (await provider.personOf(token)).actor : tokenBearer(known, token)

async function tokenBearer(known: Credentials, token: string): Promise<Actor> {
  const actor = known.granted(token) ?? (await known.stored(token))
  if (actor) return actor
  const detail = 'the token is not known here; see --token, LCM_TOKEN or the data folder'
  throw new ProblemError('unauthenticated', detail)
}

/** With the caches of tokens and sessions, a stream ends at most 4 s after its access was revoked on another replica. */
const RECHECK_MS = 3_000

interface Caller {
  readonly clock: Clock
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal
  /** Rejects when the caller has lost access. */
  check(): Promise<unknown>
}

/** Opens a stream that ends when its caller disconnects or loses access. The stream must end by the signal that it gets. */
export async function revocableStream(
  open: (signal: AbortSignal) => Promise<AsyncIterable<string>>,
  caller: Caller,
): Promise<AsyncIterable<string>> {
  const allowed = linkedAbort(caller.signal)
  try {
    return watched(await open(allowed.signal), allowed, caller)
  } catch (error) {
    allowed.unlink()
    throw error
  }
}

async function* watched(stream: AsyncIterable<string>, allowed: LinkedAbort, caller: Caller): AsyncGenerator<string> {
  void recheck(allowed, caller)
  try {
    for await (const part of stream) {
      if (allowed.signal.aborted) return
      yield part
    }
  } finally {
    allowed.abort()
    allowed.unlink()
  }
}

async function recheck({ signal, abort }: LinkedAbort, { clock, check }: Caller): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(RECHECK_MS, signal)
    if (!signal.aborted) await check().catch(abort)
  }
}
