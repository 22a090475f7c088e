import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import { toMs } from '@lcm/domain/instant'
import type { Token } from '@lcm/domain/token'
import { type LinkedAbort, type Logger, linkedAbort } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Store } from '@lcm/store/store'
import { type Sealing, sha256 } from '../crypto.ts'
import { RESOURCES } from '../resources.ts'
import { type BrowserLogin, browserLogin } from './browser-login.ts'
import { type BrowserSessions, browserSessions, refuseForeignOrigin } from './browser-sessions.ts'
import { failedAttempts } from './failed-attempts.ts'
import type { Fetch } from './fetch-json.ts'
import { type IdentityProvider, identityProvider, type OidcConfig } from './identity-provider.ts'
import { loginCodes } from './login-codes.ts'
import { ACCESS_LIMITS, type AccessLimits, boundedMap, rateLimiter } from './rate-limiter.ts'
import { signInCookie } from './sign-in-cookie.ts'

const SIGN_IN = '/login'
const VALID_MAX = 1_000
const BEARER = /^Bearer ([\x21-\x7e]{1,8192})$/i
/** Three base64url parts; the first is JSON. */
const JWT = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/

export interface AccessControl {
  /** Registers a token. Only its hash is stored. */
  grant(token: string, actor: Actor): void
  /** Returns the actor of a request. Refuses unknown callers, browsers sent by another site and callers over the rate limit. */
  identify(request: ApiRequest): Promise<Actor>
  /** Checks a request that was admitted before and is still being answered. It counts against no limit. */
  recheck(request: ApiRequest): Promise<Actor>
  /** Creates a code that logs in one browser once, as this actor. */
  createLoginCode(actor: Actor): Promise<string>
  /** Drops cached tokens after a deletion. */
  forgetTokens(): void
  readonly browser: BrowserLogin
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
  /** Seals cookies: they survive a restart, but end when their key is removed. */
  readonly sealing: Sealing
  findToken(secret: string): Promise<Token | null>
  getToken(id: string): Promise<Token | null>
}

export function accessControl(parts: AccessParts): AccessControl {
  const { clock, oidc = null, publicUrl = null } = parts
  const limits = { ...ACCESS_LIMITS, ...parts.limits }
  const attempts = failedAttempts(clock, limits)
  const rate = rateLimiter(clock, limits)
  const codes = loginCodes({ ...parts, codes: parts.store.collection(RESOURCES.loginCodes) })
  const tokens = bearerTokens(parts)
  const provider = oidc && identityProvider(oidc, { ...parts, fetch: parts.fetch ?? fetch })
  const keyOf = async (actorId: string) =>
    actorId.startsWith('oidc:') ? (oidc?.issuer ?? null) : tokens.keyOf(actorId)
  const sessions = browserSessions({ clock, sealing: parts.sealing, publicUrl, keyOf })
  const identities = { tokens, provider, sessions, publicUrl }
  const valid = recentlyValid()

  return {
    grant: tokens.grant,
    forgetTokens: tokens.forget,
    createLoginCode: codes.create,
    recheck: request => identified(identities, request),
    async identify(request) {
      const identify = () => identified(identities, request)
      const { authorization } = request.headers
      // Sealed cookies can't be guessed, and an open page of an expired session retries again and again.
      const isGuess = authorization !== undefined && !valid.has(authorization)
      const actor = await (isGuess ? attempts.guard(request.remote, identify) : identify())
      if (authorization !== undefined) valid.add(authorization)
      if (request.remote !== undefined) rate.take(actor, Buffer.byteLength(request.body ?? ''))
      return actor
    },
    browser: browserLogin({
      log: parts.log,
      publicUrl,
      sessions,
      signIns: signInCookie({ ...parts, publicUrl }),
      provider,
      codes,
      attempts,
      keyOf,
    }),
  }
}

/** A secret that was valid recently is no guess: a stranger at the same address must not lock its owner out. */
function recentlyValid() {
  const until = boundedMap<true>(VALID_MAX)
  return {
    has: (authorization: string): boolean => until.get(sha256(authorization)) === true,
    add: (authorization: string): void => void until.set(sha256(authorization), true),
  }
}

interface Identities {
  readonly tokens: BearerTokens
  readonly provider: IdentityProvider | null
  readonly sessions: BrowserSessions
  readonly publicUrl: string | null
}

async function identified(identities: Identities, request: ApiRequest): Promise<Actor> {
  const { authorization } = request.headers
  if (authorization !== undefined) return bearer(identities, authorization)
  const actor = await identities.sessions.read(request)
  if (actor === null) {
    const [how, advice] = identities.provider
      ? [`sign in at ${SIGN_IN}`, { signIn: SIGN_IN }]
      : ['open a login link: lcm open', {}]
    throw new ProblemError('unauthenticated', `send a bearer token, or ${how}`, undefined, advice)
  }
  if (request.method !== 'GET') refuseForeignOrigin(request, identities.publicUrl)
  return actor
}

async function bearer({ tokens, provider }: Identities, authorization: string): Promise<Actor> {
  const token = BEARER.exec(authorization)?.[1] ?? ''
  const granted = tokens.granted(token)
  if (granted) return granted
  if (provider && JWT.test(token)) return provider.personOf(token)
  const actor = await tokens.stored(token)
  if (actor) return actor
  const detail = 'the token is not known here; see --token, LCM_TOKEN or the data folder'
  throw new ProblemError('unauthenticated', detail)
}

/** Longest time that a stream stays open after its token was revoked. */
const RECHECK_MS = 5_000

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

/** Longest time that a revoked token still works on other replicas. */
const CACHE_MS = 1_000
const CACHE_MAX = 1_000
/** Format of `POST /tokens`; other secrets are refused without a store read. */
const STORED_SECRET = /^lcm_[\w-]{43}$/
const STORED_ID = 'token:'

interface Lookup {
  readonly token: Promise<Token | null>
  readonly sinceMs: number
}

export interface BearerTokens {
  grant(secret: string, actor: Actor): void
  granted(secret: string): Actor | null
  stored(secret: string): Promise<Actor | null>
  /** Key that ties logins to an actor; null when the actor is unknown. */
  keyOf(actorId: string): Promise<string | null>
  /** Drops the cache after a token was deleted in this process. */
  forget(): void
}

/** Tokens from the start of the process and tokens in the store. The lookup is by hash, so its timing reveals nothing. */
export function bearerTokens(options: {
  clock: Clock
  findToken: (secret: string) => Promise<Token | null>
  getToken: (id: string) => Promise<Token | null>
}): BearerTokens {
  const { clock } = options
  const actors = new Map<string, Actor>()
  const keys = new Map<string, string>()
  const lookups = boundedMap<Lookup>(CACHE_MAX)

  async function cached(name: string, read: () => Promise<Token | null>): Promise<Token | null> {
    const known = lookups.get(name)
    if (known && clock.monotonic() - known.sinceMs < CACHE_MS) return unlessExpired(await known.token)
    const lookup = { token: read(), sinceMs: clock.monotonic() }
    lookups.set(name, lookup)
    try {
      return unlessExpired(await lookup.token)
    } catch (error) {
      if (lookups.get(name) === lookup) lookups.delete(name)
      throw error
    }
  }

  const unlessExpired = (token: Token | null): Token | null =>
    token === null || (token.expires_at !== null && toMs(token.expires_at) <= clock.now()) ? null : token

  return {
    grant(secret, actor) {
      const hash = sha256(secret)
      actors.set(hash, actor)
      keys.set(actor.id, sha256(hash).slice(0, 16))
    },
    granted: secret => actors.get(sha256(secret)) ?? null,
    async stored(secret) {
      if (!STORED_SECRET.test(secret)) return null
      const token = await cached(sha256(secret), () => options.findToken(secret))
      return token && actorOf(token)
    },
    async keyOf(actorId) {
      const key = keys.get(actorId)
      if (key !== undefined) return key
      if (!actorId.startsWith(STORED_ID)) return null
      const id = actorId.slice(STORED_ID.length)
      return (await cached(actorId, () => options.getToken(id)))?.id ?? null
    },
    forget: () => lookups.clear(),
  }
}

const actorOf = ({ id, name, role, service }: Token): Actor => ({ id: `${STORED_ID}${id}`, name, role, service })
