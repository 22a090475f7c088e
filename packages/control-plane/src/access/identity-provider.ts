import { ProblemError } from '@lcm/contract/problems'
import type { Actor, Role } from '@lcm/domain/actor'
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
}

export interface IdentityProvider {
  /** Actor of a token for the API. */
  personOf(token: string): Promise<Actor>
  /** Address where a browser signs in. */
  signInUrl(request: { redirectUri: string; state: string; nonce: string; challenge: string }): Promise<string>
  /** Actor that signed in with this code. */
  redeem(answer: { code: string; verifier: string; nonce: string; redirectUri: string }): Promise<Actor>
}

/** Asymmetric signatures only: with a shared secret, or none, anyone could sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const CLOCK_TOLERANCE_SECONDS = 30
const NAME_LENGTH_MAX = 200

const Exchange = z.object({ id_token: z.string().max(16_384) })
const Subject = z.string().regex(/^[^\p{Cc}]{1,255}$/u)

export function identityProvider(config: OidcConfig, parts: ProviderParts): IdentityProvider {
  const documents = providerDocuments(config.issuer, parts)
  const claimsFor = (audience: string, token: string) =>
    verifiedClaims(token, { documents, issuer: config.issuer, audience, nowMs: parts.clock.now(), log: parts.log })

  return {
    personOf: async token => personIn(await claimsFor(config.audience, token), config.roleClaim),
    async signInUrl({ redirectUri, state, nonce, challenge }) {
      const url = new URL((await documents.discovery.get()).authorization_endpoint)
      const query = { response_type: 'code', scope: 'openid profile email', code_challenge_method: 'S256' }
      const own = { client_id: config.clientId, redirect_uri: redirectUri, state, nonce, code_challenge: challenge }
      for (const [name, value] of Object.entries({ ...query, ...own })) url.searchParams.set(name, value)
      return url.href
    },
    async redeem({ code, verifier, nonce, redirectUri }) {
      const form = { grant_type: 'authorization_code', code, code_verifier: verifier }
      const body = new URLSearchParams({ ...form, client_id: config.clientId, redirect_uri: redirectUri })
      const { token_endpoint } = await documents.discovery.get()
      const { status, json } = await documents.ask(token_endpoint, { method: 'POST', body })
      const exchange = Exchange.safeParse(json)
      if (status !== 200 || !exchange.success)
        throw new ProblemError('unauthenticated', `the identity provider does not take the code (${status})`)
      const claims = await claimsFor(config.clientId, exchange.data.id_token)
      const isForUs = claims.azp === undefined || claims.azp === config.clientId
      const isForThisLogin = typeof claims.nonce === 'string' && sameSecret(claims.nonce, nonce)
      if (!isForUs || !isForThisLogin) throw new ProblemError('unauthenticated', 'the token is for another login')
      return personIn(claims, config.roleClaim)
    },
  }
}

interface Expected {
  readonly documents: ProviderDocuments
  readonly issuer: string
  readonly audience: string
  readonly nowMs: number
  readonly log: Logger
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

async function verify(token: string, keys: Keys, { issuer, audience, nowMs }: Expected): Promise<JWTPayload> {
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(nowMs),
    requiredClaims: ['exp', 'sub'],
  })
  return payload
}

/** Logs only the cause of the refusal, nothing of the token. */
function refusal(error: unknown, { issuer, log }: Expected): ProblemError {
  if (error instanceof errors.JWTExpired) return new ProblemError('unauthenticated', 'the token is over; sign in again')
  log.debug({ because: error instanceof errors.JOSEError ? error.code : String(error) }, 'token refused')
  return new ProblemError('unauthenticated', `the token is not one of ${issuer} for LCM`)
}

function personIn(claims: JWTPayload, roleClaim: string): Actor {
  const subject = Subject.safeParse(claims.sub)
  if (!subject.success) throw new ProblemError('unauthenticated', 'the token has no subject')
  const name = [claims.preferred_username, claims.email].find(isName) ?? subject.data
  const role = roleIn(claims, roleClaim)
  if (role !== null) return { id: `oidc:${subject.data}`, name, role, service: null }
  const detail = `${name} has no role of LCM; the claim ${roleClaim} must hold admin, operator, author or user`
  throw new ProblemError('forbidden', detail)
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= NAME_LENGTH_MAX && /^[^\p{Cc}]+$/u.test(value)

/** Strongest first. Controllers use tokens of LCM, so the provider can't assign that role. */
const USER_ROLES: readonly Role[] = ['admin', 'operator', 'author', 'user']

/** Strongest role in a claim, which holds a name or a list of names. Null when LCM knows none of them. */
export function roleIn(claims: object, path: string): Role | null {
  const value = claimAt(claims, path)
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  return USER_ROLES.find(role => names.includes(role)) ?? null
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
