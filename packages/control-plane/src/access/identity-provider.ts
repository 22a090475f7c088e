import { ProblemError } from '@lcm/contract/problems'
import { type Instant, toInstant } from '@lcm/domain/instant'
import {
  PERSON_GROUPS_MAX,
  PERSON_ROLES,
  PersonEmail,
  PersonGroup,
  type PersonRole,
  type ProviderProfile,
  providerPersonId,
} from '@lcm/domain/person'
import { isOnOneLine, onOneLine } from '@lcm/domain/text/hidden-characters'
import type { Logger } from '@lcm/runtime'
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { z } from 'zod'
import { sameSecret } from '../crypto.ts'
import { type Keys, type ProviderDocuments, type ProviderParts, providerDocuments } from './oidc-metadata.ts'

export interface OidcConfig {
  /** Exactly as the provider spells it. */
  readonly issuer: string
  /** Required audience of tokens for the API. */
  readonly audience: string
  /** Client id of the console: a public client with PKCE. */
  readonly clientId: string
  /** Claim that names the role, such as `roles` or `realm_access.roles`. */
  readonly roleClaim: string
  /** What the console asks for, such as `openid profile email`. */
  readonly scopes: string
}

/** A person who just signed in. */
export interface SignedIn<P> {
  readonly person: P
  readonly issuer: string
  readonly subject: string
  /** The provider's own id of the session; null when it has none. */
  readonly sid: string | null
  /** Asks later whether the person still has access; null when the provider gave none. */
  readonly refreshToken: string | null
}

export type Refreshed<P> =
  /** Null: the provider confirms the person and says nothing about the role. */
  | { readonly kind: 'confirmed'; readonly person: P | null; readonly refreshToken: string | null }
  | { readonly kind: 'ended'; readonly because: string }
  /** The provider does not respond, or not in a way that says anything about the person. */
  | { readonly kind: 'silent' }

/** What a logout token ends: a session of the provider, or all of a person when it names no session. */
export interface ProviderLogout {
  readonly jti: string
  readonly sid: string | null
  readonly subject: string | null
}

/** A person as the provider describes it in a token. */
export interface ProviderPerson extends ProviderProfile {
  readonly id: string
  /** When the token was issued; long ago if the token doesn't say. */
  readonly issuedAt: Instant
}

export interface IdentityProvider<P> {
  readonly issuer: string
  /** Person of a token for the API. */
  personOf(token: string): Promise<P>
  /** Address where a browser signs in. */
  signInUrl(request: { redirectUri: string; state: string; nonce: string; challenge: string }): Promise<string>
  /** Person who signed in with this code. */
  redeem(answer: { code: string; verifier: string; nonce: string; redirectUri: string }): Promise<SignedIn<P>>
  /** Reads person and role again. */
  refresh(refreshToken: string, subject: string): Promise<Refreshed<P>>
  /** Verifies a logout token (OpenID Connect Back-Channel Logout). */
  logoutOf(logoutToken: string): Promise<ProviderLogout>
}

/** Asymmetric signatures only: with a shared secret, or none, anyone could sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const CLOCK_TOLERANCE_SECONDS = 30
const NAME_LENGTH_MAX = 200

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Logout tokens are sent at once, so an old one is a replay. */
const LOGOUT_AGE_SECONDS_MAX = 10 * 60

const RefreshToken = z.string().min(1).max(8_192)
const Exchange = z.object({ id_token: z.string().max(16_384), refresh_token: RefreshToken.optional() })
const Refresh = z.object({
  id_token: z.string().max(16_384).optional(),
  access_token: z.string().max(16_384).optional(),
  refresh_token: RefreshToken.optional(),
})
const Refusal = z.object({ error: z.string() })
const Sid = z.string().regex(/^[^\p{Cc}]{1,255}$/u)
const LogoutClaims = z.object({
  jti: z.string().min(1).max(255),
  sid: Sid.optional(),
  sub: Sid.optional(),
  events: z.looseObject({ [LOGOUT_EVENT]: z.object({}) }),
  nonce: z.never().optional(),
})
const Subject = z.string().regex(/^[^\p{Cc}]{1,255}$/u)

export function identityProvider(config: OidcConfig, parts: ProviderParts): IdentityProvider<ProviderPerson> {
  const { issuer, clientId } = config
  const documents = providerDocuments(issuer, parts)
  const claimsFor = (audience: string, token: string, more: Partial<Expected> = {}) =>
    verifiedClaims(token, { documents, issuer, audience, nowMs: parts.clock.now(), log: parts.log, ...more })
  const personOf = async (token: string) => personIn(await claimsFor(config.audience, token), config.roleClaim)

  async function exchange(form: Record<string, string>) {
    const { token_endpoint } = await documents.discovery.get()
    const body = new URLSearchParams({ ...form, client_id: clientId })
    return documents.ask(token_endpoint, { method: 'POST', body })
  }

  /** Person in the answer to a refresh; null when its tokens don't name one that LCM can read. */
  async function personInRefresh({ id_token, access_token }: z.infer<typeof Refresh>, subject: string) {
    if (id_token !== undefined) {
      const claims = await claimsFor(clientId, id_token)
      if (claims.sub !== subject) throw new ProblemError('forbidden', 'the provider names another person')
      return personIn(claims, config.roleClaim)
    }
    return access_token === undefined ? null : personOf(access_token).catch(unlessForbidden)
  }

  return {
    issuer,
    personOf,
    async signInUrl({ redirectUri, state, nonce, challenge }) {
      const url = new URL((await documents.discovery.get()).authorization_endpoint)
      const query = { response_type: 'code', scope: config.scopes, code_challenge_method: 'S256' }
      const own = { client_id: clientId, redirect_uri: redirectUri, state, nonce, code_challenge: challenge }
      for (const [name, value] of Object.entries({ ...query, ...own })) url.searchParams.set(name, value)
      return url.href
    },
    async redeem({ code, verifier, nonce, redirectUri }) {
      const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri }
      const { status, json } = await exchange(form)
      const answer = Exchange.safeParse(json)
      if (status !== 200 || !answer.success)
        throw new ProblemError('unauthenticated', `the identity provider does not take the code (${status})`)
      const claims = await claimsFor(clientId, answer.data.id_token)
      const isForUs = claims.azp === undefined || claims.azp === clientId
      const isForThisLogin = typeof claims.nonce === 'string' && sameSecret(claims.nonce, nonce)
      if (!isForUs || !isForThisLogin) throw new ProblemError('unauthenticated', 'the token is for another login')
      const person = personIn(claims, config.roleClaim)
      const sid = Sid.safeParse(claims.sid).data ?? null
      return { person, issuer, subject: String(claims.sub), sid, refreshToken: answer.data.refresh_token ?? null }
    },
    async refresh(refreshToken, subject) {
      try {
        const { status, json } = await exchange({ grant_type: 'refresh_token', refresh_token: refreshToken })
        if (Refusal.safeParse(json).data?.error === 'invalid_grant')
          return { kind: 'ended', because: 'the identity provider ended it' }
        const answer = Refresh.safeParse(json)
        if (status !== 200 || !answer.success) return { kind: 'silent' }
        const person = await personInRefresh(answer.data, subject)
        return { kind: 'confirmed', person, refreshToken: answer.data.refresh_token ?? null }
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error
        return error.code === 'forbidden' ? { kind: 'ended', because: error.message } : { kind: 'silent' }
      }
    },
    async logoutOf(logoutToken) {
      const expected = { requiredClaims: ['iat'], maxTokenAge: LOGOUT_AGE_SECONDS_MAX }
      return logoutIn(await claimsFor(clientId, logoutToken, expected))
    },
  }
}

function logoutIn(claims: JWTPayload): ProviderLogout {
  const { data } = LogoutClaims.safeParse(claims)
  if (data === undefined || (data.sid ?? data.sub) === undefined)
    throw new ProblemError('unauthenticated', 'this is no logout token of the identity provider')
  return { jti: data.jti, sid: data.sid ?? null, subject: data.sub ?? null }
}

function unlessForbidden(error: unknown): null {
  if (error instanceof ProblemError && error.code !== 'forbidden') return null
  throw error
}

interface Expected {
  readonly documents: ProviderDocuments
  readonly issuer: string
  readonly audience: string
  readonly nowMs: number
  readonly log: Logger
  /** Tokens of people must name one and expire. */
  readonly requiredClaims?: string[]
  readonly maxTokenAge?: number
}

/** Verifies signature, audience and time of a token. An unknown key causes one reload of the keys. */
async function verifiedClaims(token: string, expected: Expected): Promise<JWTPayload> {
  const { keys } = expected.documents
  const known = await keys.get()
  try {
    return await verify(token, known, expected)
  } catch (error) {
    const renewed = error instanceof errors.JWKSNoMatchingKey ? await keys.renew() : known
    if (renewed === known) throw refusal(error, expected)
    return await verify(token, renewed, expected).catch(again => Promise.reject(refusal(again, expected)))
  }
}

async function verify(token: string, keys: Keys, expected: Expected): Promise<JWTPayload> {
  const { issuer, audience, nowMs, requiredClaims = ['exp', 'sub'], maxTokenAge } = expected
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(nowMs),
    requiredClaims,
    ...(maxTokenAge === undefined ? {} : { maxTokenAge }),
  })
  return payload
}

/** Logs only the cause of the refusal, nothing of the token. */
function refusal(error: unknown, { issuer, log }: Expected): ProblemError {
  if (error instanceof errors.JWTExpired) return new ProblemError('unauthenticated', 'the token is over; sign in again')
  log.debug({ because: error instanceof errors.JOSEError ? error.code : String(error) }, 'token refused')
  return new ProblemError('unauthenticated', `the token is not one of ${issuer} for LCM`)
}

function personIn(claims: JWTPayload, roleClaim: string): ProviderPerson {
  const subject = Subject.safeParse(claims.sub)
  if (!subject.success) throw new ProblemError('unauthenticated', 'the token has no subject')
  const name = [claims.preferred_username, claims.email].find(isName) ?? subject.data
  const role = roleIn(claims, roleClaim)
  if (role !== null) {
    const id = providerPersonId(subject.data)
    const issuedAt = toInstant((claims.iat ?? 0) * 1000)
    return { id, name, email: emailIn(claims), role, groups: groupsIn(claims), issuedAt }
  }
  const detail = `${name} has no role of LCM; the claim ${roleClaim} must hold admin, operator, author or user`
  throw new ProblemError('forbidden', detail)
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= NAME_LENGTH_MAX && isOnOneLine(value)

/** An address that the provider has not verified could be anyone's. */
const emailIn = ({ email, email_verified }: JWTPayload): string | null =>
  email_verified === false ? null : (onOneLine(PersonEmail).safeParse(email).data ?? null)

/** The claim `groups`, if it is a list of names. */
const groupsIn = ({ groups }: JWTPayload): string[] =>
  (Array.isArray(groups) ? groups : [])
    .filter(group => onOneLine(PersonGroup).safeParse(group).success)
    .slice(0, PERSON_GROUPS_MAX)

/**
 * Strongest role in a claim, which holds a name or a list of names. Null when LCM knows none of them. The provider can't assign
 * `controller`: controllers use tokens of LCM.
 */
export function roleIn(claims: object, path: string): PersonRole | null {
  const value = claimAt(claims, path)
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  return PERSON_ROLES.find(role => names.includes(role)) ?? null
}

/** The name of a claim may contain dots, such as a URL; otherwise dots lead to nested claims. */
function claimAt(claims: object, path: string): unknown {
  if (Object.hasOwn(claims, path)) return memberOf(claims, path)
  return path.split('.').reduce<unknown>(memberOf, claims)
}

const memberOf = (holder: unknown, name: string): unknown =>
  typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name)
    ? new Map<string, unknown>(Object.entries(holder)).get(name)
    : undefined
