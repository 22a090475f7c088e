import { createHash } from 'node:crypto'
import { systemClock } from '@lcm/runtime/clock'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { browse as browseWith, codeOf, cookieOf, cookiesOf, HOST, signIn, whoIs } from './testing/a-browser.ts'
import { aKey, fakeProvider, OIDC } from './testing/fake-identity-provider.ts'
import { REAL_AUDIENCE, REAL_CLIENT, realProvider } from './testing/real-identity-provider.ts'

type Plane = ReturnType<typeof aControlPlane>

const CALLBACK = `http://${HOST}/login/callback`

const pathOf = (url: string) => url.slice(`http://${HOST}`.length)
const failed = (code: string) => ({ status: 303, headers: { location: `/#/sign-in?failed=${code}` } })
const FAILED = failed('unauthenticated')

const browse = (plane: Plane, url: string, headers: Record<string, string> = {}, method = 'GET') =>
  browseWith(plane, method, url, headers)

describe('with a real provider', () => {
  let provider: Awaited<ReturnType<typeof realProvider>>
  let plane: Plane
  let clock: ReturnType<typeof manualClock>
  beforeAll(async () => {
    provider = await realProvider(CALLBACK, sendLogout)
  })
  // The provider has the real time, so each test begins with it.
  beforeEach(() => {
    const { issuer } = provider
    const own = { audience: REAL_AUDIENCE, clientId: REAL_CLIENT, roleClaim: 'roles' }
    const oidc = { ...own, issuer, scopes: 'openid profile email' }
    clock = manualClock(systemClock.now())
    plane = aControlPlane({ clock, oidc })
  })
  afterAll(() => provider.close())

  const sendLogout = async (logoutToken: string) => {
    const body = String(new URLSearchParams({ logout_token: logoutToken }))
    const headers = { 'content-type': 'application/x-www-form-urlencoded', body }
    return (await browse(plane, '/login/provider-logout', headers, 'POST')).status
  }

  const signedIn = async (account: string) => {
    const { path, cookie } = await toCallback(account)
    return cookieOf(await browse(plane, path, { cookie }))
  }
  const sessionOf = async (account: string) =>
    (await plane.all('browserSessions')).find(({ actor }) => actor.name === account)

  /** Starts a login and lets the provider redirect the browser back. */
  async function toCallback(account: string) {
    const redirect = await browse(plane, '/login/provider')
    const back = await provider.signIn(redirect.headers.location ?? '', account)
    return { path: pathOf(back), cookie: cookiesOf(redirect)[0] ?? '' }
  }

  it('a person signs in with the browser', async () => {
    const { path, cookie } = await toCallback('operator')
    const answer = await browse(plane, path, { cookie })
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
    expect(answer.body).toContain('<meta http-equiv="refresh" content="0;url=/">')
    const [session = '', signIn = ''] = cookiesOf(answer)
    expect(answer.headers['set-cookie']).toMatch(/^lcm_session_8080=\S+; Path=\/; HttpOnly; SameSite=Strict/)
    expect(signIn).toBe('lcm_sign_in_8080=')
    const info = await browse(plane, '/api/v1/info', { cookie: session })
    expect(JSON.parse(String(info.body)).actor).toMatchObject({ name: 'operator', role: 'operator' })
  })

  it('a callback works once', async () => {
    const { path, cookie } = await toCallback('user')
    expect((await browse(plane, path, { cookie })).status).toBe(200)
    expect(await browse(plane, path, { cookie })).toMatchObject(FAILED)
    expect(await browse(plane, path)).toMatchObject(FAILED)
  })

  it('a callback works only in the browser that began the login', async () => {
    const [one, other] = [await toCallback('user'), await toCallback('user')]
    expect(await browse(plane, one.path, { cookie: other.cookie })).toMatchObject(FAILED)
    const url = new URL(one.path, CALLBACK)
    url.searchParams.set('state', 'guess')
    expect(await browse(plane, url.pathname + url.search, { cookie: one.cookie })).toMatchObject(FAILED)
  })

  it('the code of one login is refused with the secrets of another', async () => {
    const [one, other] = [await toCallback('user'), await toCallback('user')]
    const url = new URL(one.path, CALLBACK)
    url.searchParams.set('code', new URL(other.path, CALLBACK).searchParams.get('code') ?? '')
    expect(await browse(plane, url.pathname + url.search, { cookie: one.cookie })).toMatchObject(FAILED)
  })

  it('a person without a role is refused', async () => {
    const { path, cookie } = await toCallback('no-role')
    expect(await browse(plane, path, { cookie })).toMatchObject(failed('forbidden'))
  })

  it('a person who cancels the sign-in sees the failure page', async () => {
    const { path, cookie } = await toCallback('user')
    const state = new URL(path, CALLBACK).searchParams.get('state')
    expect(await browse(plane, `/login/callback?state=${state}&error=access_denied`, { cookie })).toMatchObject(FAILED)
  })

  it('a session is confirmed with the refresh token of the provider, and ends with the person', async () => {
    const cookie = await signedIn('author')
    const first = (await sessionOf('author'))?.provider?.sealed_refresh_token
    expect(first).toEqual(expect.any(String))
    await clock.advance(5 * 60_000)
    expect(await whoIs(plane, cookie)).toMatchObject({ name: 'author', role: 'author' })
    expect((await sessionOf('author'))?.provider?.sealed_refresh_token).not.toBe(first)
    provider.remove('author')
    await clock.advance(5 * 60_000)
    expect(await whoIs(plane, cookie)).toBe(401)
  })

  it('a session ends when the provider gives no role any more', async () => {
    const cookie = await signedIn('admin')
    provider.takeRole('admin')
    await clock.advance(5 * 60_000)
    expect(await whoIs(plane, cookie)).toBe(401)
    expect(await sessionOf('admin')).toBeUndefined()
  })

  it('a session ends with a logout token of the provider', async () => {
    const cookie = await signedIn('operator')
    const sid = (await sessionOf('operator'))?.provider?.sid ?? ''
    expect(sid).not.toBe('')
    await provider.logOut('operator', sid)
    expect(await whoIs(plane, cookie)).toBe(401)
  })

  it('an access token is valid for the API', async () => {
    const verifier = 'v'.repeat(43)
    const url = new URL((await browse(plane, '/login/provider')).headers.location ?? '')
    url.searchParams.set('code_challenge', createHash('sha256').update(verifier).digest('base64url'))
    const back = new URL(await provider.signIn(url.href, 'user'))
    const token = await provider.accessToken(back.searchParams.get('code') ?? '', verifier)
    const ask = (bearer: string) => plane.send('GET', 'info', { headers: { authorization: `Bearer ${bearer}` } })
    expect((await ask(token)).json.actor).toMatchObject({ name: 'user', role: 'user' })
    const [head, , signature] = token.split('.')
    const forged = Buffer.from(JSON.stringify({ sub: 'x', roles: ['admin'] })).toString('base64url')
    expect((await ask(`${head}.${forged}.${signature}`)).status).toBe(401)
  })
})

describe('with a provider in the same process', () => {
  let fake: ReturnType<typeof fakeProvider>
  let plane: Plane
  beforeEach(async () => {
    fake = fakeProvider(() => plane.clock.now())
    plane = aControlPlane({ oidc: OIDC, fetch: fake.fetch })
    fake.state.keys = [await aKey('k1')]
  })

  const signed = (claims: Record<string, unknown> = {}) => {
    const [key] = fake.state.keys
    if (!key) throw new Error('no key')
    return fake.token(key, claims)
  }
  const ask = async (claims: Record<string, unknown> = {}) =>
    plane.send('GET', 'info', { headers: { authorization: `Bearer ${await signed(claims)}` } })

  /** A login up to the callback, with these claims of the provider. */
  async function callback(claims: Record<string, unknown> = {}, waitMs = 0) {
    const redirect = await browse(plane, '/login/provider')
    const { searchParams } = new URL(redirect.headers.location ?? '')
    await plane.clock.advance(waitMs)
    fake.state.idToken = await signed({ aud: OIDC.clientId, nonce: searchParams.get('nonce'), ...claims })
    const [cookie = ''] = cookiesOf(redirect)
    return browse(plane, `/login/callback?code=c&state=${searchParams.get('state')}`, { cookie })
  }

  it('keeps the secrets of a login from scripts, for ten minutes', async () => {
    const redirect = await browse(plane, '/login/provider')
    expect(redirect.headers['set-cookie']).toMatch(
      /^lcm_sign_in_8080=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
    )
    expect((await callback({}, 10 * 60_000 - 1)).status).toBe(200)
    expect(await callback({}, 10 * 60_000)).toMatchObject(FAILED)
  })

  it('does not accept the cookie of a login as a session', async () => {
    const [cookie = ''] = cookiesOf(await browse(plane, '/login/provider'))
    const session = cookie.replace('lcm_sign_in', 'lcm_session')
    expect((await browse(plane, '/api/v1/info', { cookie: session })).status).toBe(401)
  })

  it('sends the browser back to the public address', async () => {
    plane = aControlPlane({ oidc: OIDC, fetch: fake.fetch, publicUrl: 'https://lcm.example' })
    const redirect = await browse(plane, '/login/provider', { 'x-forwarded-proto': 'https' })
    expect(new URL(redirect.headers.location ?? '').searchParams.get('redirect_uri')).toBe(
      'https://lcm.example/login/callback',
    )
    expect(redirect.headers['set-cookie']).toMatch(/; Secure$/)
  })

  it('refuses a login whose ID token has another nonce or audience', async () => {
    expect((await callback()).status).toBe(200)
    expect(await callback({ nonce: 'another' })).toMatchObject(FAILED)
    expect(await callback({ aud: OIDC.audience })).toMatchObject(FAILED)
  })

  it('proves with the code verifier that it began the login', async () => {
    const redirect = await browse(plane, '/login/provider')
    const { searchParams } = new URL(redirect.headers.location ?? '')
    const [cookie = ''] = cookiesOf(redirect)
    await browse(plane, `/login/callback?code=c&state=${searchParams.get('state')}`, { cookie })
    const verifier = fake.state.form.get('code_verifier') ?? ''
    expect(createHash('sha256').update(verifier).digest('base64url')).toBe(searchParams.get('code_challenge'))
  })

  it('works on any replica', async () => {
    const secretKey = new Uint8Array(32).fill(3)
    const store = openSqliteStore(':memory:')
    const replicas = [1, 2].map(() => aControlPlane({ oidc: OIDC, fetch: fake.fetch, secretKey, store }))
    const [one = plane, two = plane] = replicas
    plane = one
    const redirect = await browse(one, '/login/provider')
    const { searchParams } = new URL(redirect.headers.location ?? '')
    fake.state.idToken = await signed({ aud: OIDC.clientId, nonce: searchParams.get('nonce') })
    const [cookie = ''] = cookiesOf(redirect)
    const answer = await browse(two, `/login/callback?code=c&state=${searchParams.get('state')}`, { cookie })
    const [session = ''] = cookiesOf(answer)
    expect((await browse(one, '/api/v1/info', { cookie: session })).status).toBe(200)
  })

  it('answers 503 for tokens of a provider that does not respond, and accepts its own tokens', async () => {
    fake.state.isDown = true
    expect(await ask()).toMatchObject({
      status: 503,
      headers: { 'retry-after': '5' },
      json: { code: 'identity_provider_unavailable' },
    })
    expect(await browse(plane, '/login/provider')).toMatchObject(failed('identity_provider_unavailable'))
    expect((await plane.send('GET', 'info')).status).toBe(200)
  })

  it('names the claim that has no role', async () => {
    expect(await ask({ realm_access: { roles: ['controller'] } })).toMatchObject({
      status: 403,
      json: { code: 'forbidden', detail: expect.stringContaining('realm_access.roles') },
    })
  })

  it('tells an unauthenticated caller where to sign in', async () => {
    const { status, body } = await browse(plane, '/api/v1/info')
    expect(status).toBe(401)
    expect(JSON.parse(String(body))).toMatchObject({ code: 'unauthenticated', sign_in: '/login/provider' })
  })

  it('accepts a login link too', async () => {
    const { url } = (await plane.send('POST', 'login-links')).json
    expect((await signIn(plane, { code: codeOf(url) })).status).toBe(204)
  })

  it('finds the sessions of a person with an id of any length', async () => {
    const sub = 'u'.repeat(255)
    const { actor } = (await ask({ sub })).json
    expect(await plane.send('GET', `lablet-sessions?owner=${actor.id}`)).toMatchObject({ status: 200 })
  })

  it('creates no login link for a person of the provider, whose role would outlive the claim', async () => {
    const headers = { authorization: `Bearer ${await signed()}` }
    const { status, body } = await browse(plane, '/api/v1/login-links', headers, 'POST')
    expect([status, body]).toEqual([403, expect.stringContaining('sign in in the browser')])
  })

  it('ends the sessions of a provider that is no longer configured', async () => {
    const [cookie = ''] = cookiesOf(await callback())
    const { store } = plane
    expect(await whoIs(plane, cookie)).toMatchObject({ name: 'ada' })
    expect(await whoIs(aControlPlane({ store }), cookie)).toBe(401)
    const elsewhere = { ...OIDC, issuer: 'https://other.example' }
    expect(await whoIs(aControlPlane({ store, oidc: elsewhere, fetch: fake.fetch }), cookie)).toBe(401)
  })
})

it('sends no request to a provider when none is configured', async () => {
  const plane = aControlPlane()
  expect((await browse(plane, '/login/provider')).headers.location).toBe('/#/sign-in')
  expect((await browse(plane, '/login/callback?code=c&state=s')).status).toBe(404)
  expect((await browse(plane, '/login/provider-logout', {}, 'POST')).status).toBe(404)
  expect(JSON.parse(String((await browse(plane, '/api/v1/info')).body))).not.toHaveProperty('sign_in')
  const fake = fakeProvider(() => plane.clock.now())
  const token = await fake.token(await aKey('k1'))
  expect((await plane.send('GET', 'info', { headers: { authorization: `Bearer ${token}` } })).status).toBe(401)
})
