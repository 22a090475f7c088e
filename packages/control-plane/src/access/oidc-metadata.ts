import { ProblemError } from '@lcm/contract/problems'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { z } from 'zod'
import { type Fetch, fetchJson } from './fetch-json.ts'
import { type StaleWhileRevalidate, staleWhileRevalidate } from './stale-while-revalidate.ts'

const DISCOVERY = { freshMs: 60 * 60_000, staleMs: 24 * 60 * 60_000, renewMs: 60_000, retryMs: 2_000 }
/** Unknown keys cause at most one reload per 30 seconds, whatever unknown callers send. */
const KEYS = { freshMs: 10 * 60_000, staleMs: 60 * 60_000, renewMs: 30_000, retryMs: 2_000 }
const RETRY_SECONDS = 5

const Discovery = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
})
type Discovery = z.infer<typeof Discovery>
const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) })

/** Finds the key that signed a token. */
export type Keys = ReturnType<typeof createLocalJWKSet>

export interface ProviderDocuments {
  readonly discovery: StaleWhileRevalidate<Discovery>
  readonly keys: StaleWhileRevalidate<Keys>
  /** Any response except a failure of the provider itself. */
  ask(url: string, init?: RequestInit): Promise<{ status: number; json: unknown }>
}

export interface ProviderParts {
  readonly clock: Clock
  readonly fetch: Fetch
  readonly log: Logger
}

/** Metadata and keys of an identity provider. Unreachable or invalid ones cause `identity_provider_unavailable`. */
export function providerDocuments(issuer: string, parts: ProviderParts): ProviderDocuments {
  const discovery = staleWhileRevalidate(parts.clock, discover, DISCOVERY)
  const keys = staleWhileRevalidate(parts.clock, loadKeys, KEYS)

  async function ask(url: string, init: RequestInit = {}) {
    try {
      const answer = await fetchJson(parts, url, init)
      if (answer.status >= 500) throw new Error(`${url} answers ${answer.status}`)
      return answer
    } catch (cause) {
      throw unavailable('does not respond', cause)
    }
  }

  async function discover(): Promise<Discovery> {
    const { json } = await ask(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    const document = Discovery.safeParse(json)
    if (!document.success) throw unavailable('has invalid metadata', document.error)
    const { authorization_endpoint, token_endpoint, jwks_uri } = document.data
    if (document.data.issuer !== issuer)
      throw unavailable(`has another issuer in its metadata: ${document.data.issuer}`)
    const isPlain = [authorization_endpoint, token_endpoint, jwks_uri].some(url => !url.startsWith('https:'))
    if (isPlain && issuer.startsWith('https:')) throw unavailable('has an endpoint without TLS')
    return document.data
  }

  async function loadKeys(): Promise<Keys> {
    const { json } = await ask((await discovery.get()).jwks_uri)
    const set = KeySet.safeParse(json)
    if (!set.success) throw unavailable('gives no keys', set.error)
    const known: JSONWebKeySet = set.data
    return createLocalJWKSet(known)
  }

  function unavailable(why: string, err?: unknown): ProblemError {
    const detail = `the identity provider ${issuer} ${why}; try again in a moment`
    parts.log.warn({ err, issuer }, detail)
    return new ProblemError('identity_provider_unavailable', detail, undefined, { retryAfterSeconds: RETRY_SECONDS })
  }

  return { discovery, keys, ask }
}
