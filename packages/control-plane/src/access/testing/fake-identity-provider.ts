import { type CryptoKey, exportJWK, generateKeyPair, type JSONWebKeySet, type JWTPayload, SignJWT } from 'jose'
import type { Fetch } from '../fetch-json.ts'
import type { OidcConfig } from '../identity-provider.ts'

export const OIDC: OidcConfig = {
  issuer: 'https://id.example/realm',
  audience: 'lcm-api',
  clientId: 'lcm-console',
  roleClaim: 'realm_access.roles',
  scopes: 'openid profile email',
}

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
}

export async function aKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  return { kid, alg, ...(await generateKeyPair(alg, { extractable: true })) }
}

/** An identity provider in the process, which tests can make misbehave. */
export function fakeProvider(nowMs: () => number) {
  const answers = new Map<string, () => Promise<Response> | Response>()
  const state = {
    isDown: false,
    requests: [] as string[],
    /** Form of the last token exchange. */
    form: new URLSearchParams(),
    idToken: '',
    /** The answer to a token request; null for tokens that fit `idToken`. */
    tokens: null as { status: number; body: object } | null,
    document: {
      issuer: OIDC.issuer,
      authorization_endpoint: `${OIDC.issuer}/auth?theme=dark`,
      token_endpoint: `${OIDC.issuer}/token`,
      jwks_uri: `${OIDC.issuer}/keys`,
    } as Record<string, string>,
    keys: [] as SigningKey[],
  }
  answers.set(`${OIDC.issuer}/.well-known/openid-configuration`, () => Response.json(state.document))
  answers.set(`${OIDC.issuer}/keys`, async () => Response.json(await keySet(state.keys)))
  answers.set(`${OIDC.issuer}/token`, () =>
    state.tokens !== null
      ? Response.json(state.tokens.body, { status: state.tokens.status })
      : state.idToken === ''
        ? Response.json({ error: 'invalid_grant' }, { status: 400 })
        : Response.json({ id_token: state.idToken, access_token: 'opaque', token_type: 'Bearer' }),
  )
  const fetch: Fetch = async (url, init) => {
    state.requests.push(url)
    if (state.isDown) throw new Error('connection refused')
    if (init.body instanceof URLSearchParams) state.form = init.body
    return (await answers.get(url)?.()) ?? new Response('no such page', { status: 404 })
  }

  const seconds = () => Math.floor(nowMs() / 1000)
  /** A valid token except for the given claims. Undefined omits a claim. */
  const token = (key: SigningKey, claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
    new SignJWT({
      iss: OIDC.issuer,
      aud: OIDC.audience,
      sub: 'u-1',
      exp: seconds() + 60,
      preferred_username: 'ada',
      realm_access: { roles: ['operator'] },
      ...claims,
    } as JWTPayload)
      .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
      .sign(key.privateKey)
  return { state, fetch, token, seconds }
}

async function keySet(keys: readonly SigningKey[]): Promise<JSONWebKeySet> {
  const jwks = keys.map(async ({ kid, alg, publicKey }) => ({ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }))
  return { keys: await Promise.all(jwks) }
}
