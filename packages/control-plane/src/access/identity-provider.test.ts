import { silentLogger } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { base64url, exportSPKI, SignJWT, UnsecuredJWT } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { type IdentityProvider, identityProvider, type ProviderPerson } from './identity-provider.ts'
import { aKey, fakeProvider, OIDC, type SigningKey } from './testing/fake-identity-provider.ts'

let clock: ReturnType<typeof manualClock>
let fake: ReturnType<typeof fakeProvider>
let key: SigningKey
let provider: IdentityProvider<ProviderPerson>
beforeEach(async () => {
  clock = manualClock()
  fake = fakeProvider(() => clock.now())
  key = await aKey('k1')
  fake.state.keys = [key]
  provider = identityProvider(OIDC, { clock, fetch: fake.fetch, log: silentLogger })
})

const personOf = async (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  provider.personOf(await fake.token(key, claims, header))
const refused = async (token: Promise<string> | string, code = 'unauthenticated') =>
  expect(provider.personOf(await token)).rejects.toMatchObject({ code })

describe('a token for the API', () => {
  it('authenticates a person', async () => {
    const issuedAt = '1970-01-01T00:00:00.000Z'
    expect(await personOf()).toEqual({
      id: 'oidc:u-1',
      name: 'ada',
      email: null,
      role: 'operator',
      groups: [],
      issuedAt,
    })
  })

  it('tells email, groups and its own age', async () => {
    const claims = {
      email: 'ada@example.org',
      groups: ['bgp', 7, '', 'ospf\u0007', 'rip\u202e', 'isis'],
      iat: fake.seconds(),
    }
    expect(await personOf(claims)).toMatchObject({
      email: 'ada@example.org',
      groups: ['bgp', 'isis'],
      issuedAt: new Date(fake.seconds() * 1000).toISOString(),
    })
    expect(await personOf({ ...claims, email_verified: false, groups: 'bgp' })).toMatchObject({
      email: null,
      groups: [],
    })
    expect(await personOf({ email: 'ada\u202e@example.org' })).toMatchObject({ email: null })
    expect(await personOf({ email: 'ada' })).toMatchObject({ email: null })
    expect((await personOf({ groups: Array.from({ length: 150 }, (_, n) => `g${n}`) })).groups).toHaveLength(100)
  })

  it.each([
    [{ preferred_username: undefined, email: 'ada@example.org' }, 'ada@example.org'],
    [{ preferred_username: undefined }, 'u-1'],
    [{ preferred_username: 7, email: '' }, 'u-1'],
    [{ preferred_username: 'a\u001b[2Jda' }, 'u-1'],
    [{ preferred_username: 'ada\u202enimda' }, 'u-1'],
  ])('takes the name from the claims: %j', async (claims, name) => {
    expect(await personOf(claims)).toMatchObject({ id: 'oidc:u-1', name })
  })

  it('may have several audiences', async () => {
    expect(await personOf({ aud: ['account', OIDC.audience] })).toMatchObject({ name: 'ada' })
  })

  it('may be signed with any asymmetric algorithm', async () => {
    for (const alg of ['RS256', 'PS256', 'ES384', 'EdDSA']) {
      key = await aKey(alg, alg)
      fake.state.keys = [key]
      provider = identityProvider(OIDC, { clock, fetch: fake.fetch, log: silentLogger })
      expect(await personOf()).toMatchObject({ name: 'ada' })
    }
  })

  it.each([
    ['another issuer', { iss: 'https://id.example' }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'another-api' }],
    ['the audience of the console', { aud: OIDC.clientId }],
    ['no audience', { aud: undefined }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject with control characters', { sub: 'u\u00001' }],
    ['a subject too long', { sub: 'u'.repeat(256) }],
    ['no expiry', { exp: undefined }],
  ])('is refused with %s', async (_, claims) => {
    await refused(fake.token(key, claims))
  })

  it('is accepted half a minute before and after its validity, for clocks that differ', async () => {
    expect(await personOf({ exp: fake.seconds() - 29 })).toMatchObject({ name: 'ada' })
    expect(await personOf({ nbf: fake.seconds() + 29 })).toMatchObject({ name: 'ada' })
    await refused(fake.token(key, { exp: fake.seconds() - 31 }))
    await refused(fake.token(key, { nbf: fake.seconds() + 31 }))
  })

  it('is refused when it is unsigned, forged or signed with a public key', async () => {
    const claims = { iss: OIDC.issuer, aud: OIDC.audience, sub: 'u-1', exp: fake.seconds() + 60, roles: ['admin'] }
    const spki = new TextEncoder().encode(await exportSPKI(key.publicKey))
    const shared = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(spki)
    await refused(new UnsecuredJWT(claims).encode())
    await refused(`${new UnsecuredJWT(claims).encode()}AAAA`)
    await refused(shared)
    const [head = '', body = '', signature = ''] = (await fake.token(key)).split('.')
    const forged = base64url.encode(JSON.stringify({ ...claims, sub: 'u-2' }))
    await refused(`${head}.${forged}.${signature}`)
    await refused(`${head}.${body}.${signature.slice(0, -2)}AA`)
    await refused(`${base64url.encode('{"alg":"ES256","kid":"k1","b64":false,"crit":["b64"]}')}.${body}.${signature}`)
    await refused('eyJ.eyJ.eyJ')
  })

  it('is refused when another key with the same id signed it', async () => {
    await refused(fake.token(await aKey('k1')))
  })

  it('cannot bring its own key', async () => {
    const own = await aKey('mine')
    await refused(fake.token(own, {}, { jku: 'https://evil.example/keys', jwk: { kty: 'EC' } }))
    expect(fake.state.requests.filter(url => !url.startsWith(OIDC.issuer))).toEqual([])
  })
})

describe('the role', () => {
  it('must be a role of LCM, and the refusal names the claim', async () => {
    for (const realm_access of [undefined, { roles: [] }, { roles: ['controller'] }, { roles: 'root' }]) {
      await refused(fake.token(key, { realm_access }), 'forbidden')
    }
    await expect(personOf({ realm_access: {} })).rejects.toThrow(
      /ada has no role of LCM; the claim realm_access\.roles/,
    )
  })
})

describe('the keys', () => {
  it('are fetched once in ten minutes', async () => {
    await Promise.all([personOf(), personOf()])
    await clock.advance(10 * 60_000 - 1)
    await personOf()
    expect(fake.state.requests).toHaveLength(2)
    await clock.advance(1)
    await personOf()
    expect(fake.state.requests.slice(2)).toEqual([`${OIDC.issuer}/keys`])
  })

  it('may be rotated', async () => {
    await personOf()
    await clock.advance(30_000)
    const next = await aKey('k2')
    fake.state.keys = [key, next]
    expect(await provider.personOf(await fake.token(next))).toMatchObject({ name: 'ada' })
    expect(await personOf()).toMatchObject({ name: 'ada' })
    fake.state.keys = [next]
    await clock.advance(10 * 60_000)
    await refused(fake.token(key))
  })

  it('are not fetched again for every unknown key id', async () => {
    await personOf()
    const before = fake.state.requests.length
    await clock.advance(30_000)
    for (let i = 0; i < 50; i++) await refused(fake.token(await aKey('k1'), {}, { kid: `x${i}` }))
    expect(fake.state.requests.length - before).toBe(1)
  })

  it('stay valid while the provider does not respond', async () => {
    await personOf()
    fake.state.isDown = true
    await clock.advance(59 * 60_000)
    expect(await personOf()).toMatchObject({ name: 'ada' })
    await clock.advance(60_000)
    await refused(fake.token(key), 'identity_provider_unavailable')
  })
})

describe('a provider with a bad configuration', () => {
  it.each([
    ['has another issuer in its metadata', { issuer: 'https://id.example/realm/' }],
    ['has an endpoint without TLS', { jwks_uri: 'http://id.example/realm/keys' }],
    ['has invalid metadata', { jwks_uri: '' }],
    ['does not respond', { jwks_uri: `${OIDC.issuer}/elsewhere` }],
  ])('%s', async (why, changes) => {
    fake.state.document = { ...fake.state.document, ...changes }
    const refusal = {
      code: 'identity_provider_unavailable',
      retryAfterSeconds: 5,
      message: expect.stringContaining(why),
    }
    await expect(personOf()).rejects.toMatchObject(refusal)
  })

  it('is queried again after two seconds', async () => {
    fake.state.isDown = true
    await refused(fake.token(key), 'identity_provider_unavailable')
    fake.state.isDown = false
    await refused(fake.token(key), 'identity_provider_unavailable')
    await clock.advance(2_000)
    expect(await personOf()).toMatchObject({ name: 'ada' })
  })
})

describe('signing in', () => {
  const REDIRECT = 'https://lcm.example/login/callback'
  const ANSWER = { code: 'c', verifier: 'v', nonce: 'n', redirectUri: REDIRECT }
  const idToken = (claims: Record<string, unknown>) => fake.token(key, { aud: OIDC.clientId, nonce: 'n', ...claims })

  it('begins at the provider', async () => {
    const url = new URL(await provider.signInUrl({ redirectUri: REDIRECT, state: 's', nonce: 'n', challenge: 'h' }))
    expect(`${url.origin}${url.pathname}`).toBe(`${OIDC.issuer}/auth`)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      theme: 'dark',
      response_type: 'code',
      client_id: OIDC.clientId,
      redirect_uri: REDIRECT,
      scope: 'openid profile email',
      state: 's',
      nonce: 'n',
      code_challenge: 'h',
      code_challenge_method: 'S256',
    })
  })

  it('ends by exchanging the code, without a client secret', async () => {
    fake.state.idToken = await idToken({})
    expect(await provider.redeem(ANSWER)).toMatchObject({
      person: { id: 'oidc:u-1', name: 'ada', role: 'operator' },
      issuer: OIDC.issuer,
      subject: 'u-1',
      sid: null,
      refreshToken: null,
    })
    expect(Object.fromEntries(fake.state.form)).toEqual({
      grant_type: 'authorization_code',
      code: 'c',
      code_verifier: 'v',
      client_id: OIDC.clientId,
      redirect_uri: REDIRECT,
    })
  })

  it.each([
    ['of another login', { nonce: 'other' }, 'unauthenticated'],
    ['without a nonce', { nonce: undefined }, 'unauthenticated'],
    ['for the API instead of the console', { aud: OIDC.audience }, 'unauthenticated'],
    ['issued to another client', { aud: [OIDC.clientId, 'other'], azp: 'other' }, 'unauthenticated'],
    ['that has expired', { exp: 1 }, 'unauthenticated'],
    ['of a person without a role', { realm_access: {} }, 'forbidden'],
  ])('is refused with a token %s', async (_, claims, code) => {
    fake.state.idToken = await idToken(claims)
    await expect(provider.redeem(ANSWER)).rejects.toMatchObject({ code })
  })

  it('is refused when the provider rejects the code, and can be repeated when the provider does not respond', async () => {
    await expect(provider.redeem(ANSWER)).rejects.toMatchObject({ code: 'unauthenticated' })
    fake.state.isDown = true
    await expect(provider.redeem(ANSWER)).rejects.toMatchObject({ code: 'identity_provider_unavailable' })
  })
})

describe('a person who signed in before', () => {
  const idToken = (claims: Record<string, unknown> = {}) => fake.token(key, { aud: OIDC.clientId, ...claims })
  const answers = (status: number, body: object) => {
    fake.state.tokens = { status, body }
  }

  it('is confirmed with the role of now, and the next refresh token', async () => {
    answers(200, { id_token: await idToken({ realm_access: { roles: ['user'] } }), refresh_token: 'next' })
    expect(await provider.refresh('first', 'u-1')).toMatchObject({
      kind: 'confirmed',
      person: { id: 'oidc:u-1', role: 'user' },
      refreshToken: 'next',
    })
    expect(Object.fromEntries(fake.state.form)).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'first',
      client_id: OIDC.clientId,
    })
  })

  it('is confirmed by an access token for LCM, or without a role by any other', async () => {
    answers(200, { access_token: await fake.token(key, { realm_access: { roles: ['author'] } }) })
    expect(await provider.refresh('r', 'u-1')).toMatchObject({ kind: 'confirmed', person: { role: 'author' } })
    answers(200, { access_token: 'opaque' })
    expect(await provider.refresh('r', 'u-1')).toEqual({ kind: 'confirmed', person: null, refreshToken: null })
  })

  it('has ended when the provider refuses, has no role for it, or names another person', async () => {
    answers(400, { error: 'invalid_grant' })
    expect(await provider.refresh('r', 'u-1')).toMatchObject({ kind: 'ended' })
    answers(200, { id_token: await idToken({ realm_access: {} }) })
    expect(await provider.refresh('r', 'u-1')).toMatchObject({ kind: 'ended' })
    answers(200, { id_token: await idToken({ sub: 'u-2' }) })
    expect(await provider.refresh('r', 'u-1')).toMatchObject({ kind: 'ended' })
  })

  it('is neither confirmed nor ended by a provider that is down, busy or misconfigured', async () => {
    fake.state.isDown = true
    expect(await provider.refresh('r', 'u-1')).toEqual({ kind: 'silent' })
    fake.state.isDown = false
    await clock.advance(2_000)
    for (const [status, body] of [
      [503, {}],
      [429, {}],
      [401, { error: 'invalid_client' }],
      [200, { id_token: 'x' }],
    ] as const) {
      answers(status, body)
      expect(await provider.refresh('r', 'u-1'), JSON.stringify(body)).toEqual({ kind: 'silent' })
    }
  })
})

describe('a logout token', () => {
  const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const logoutToken = (claims: Record<string, unknown> = {}) =>
    fake.token(key, { aud: OIDC.clientId, iat: fake.seconds(), jti: 'j-1', events: EVENTS, sid: 's-1', ...claims })

  it('names a session or a person', async () => {
    expect(await provider.logoutOf(await logoutToken())).toEqual({ jti: 'j-1', sid: 's-1', subject: 'u-1' })
    const older = await logoutToken({ sid: undefined, exp: undefined })
    expect(await provider.logoutOf(older)).toEqual({ jti: 'j-1', sid: null, subject: 'u-1' })
  })

  it.each([
    ['another issuer', { iss: 'https://id.example' }],
    ['another audience', { aud: OIDC.audience }],
    ['no event', { events: undefined }],
    ['another event', { events: { other: {} } }],
    ['an event that is no object', { events: { 'http://schemas.openid.net/event/backchannel-logout': true } }],
    ['a nonce, like an ID token', { nonce: 'n' }],
    ['no id', { jti: undefined }],
    ['neither session nor person', { sid: undefined, sub: undefined }],
    ['no time', { iat: undefined }],
    ['an old time', { iat: 1 }],
    ['an expiry in the past', { exp: 1 }],
  ])('is refused with %s', async (_, claims) => {
    await expect(provider.logoutOf(await logoutToken(claims))).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it('is refused with the signature of another key', async () => {
    key = await aKey('k1')
    await expect(provider.logoutOf(await logoutToken())).rejects.toMatchObject({ code: 'unauthenticated' })
  })
})
