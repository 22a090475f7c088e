import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { givenKeys } from '../keys/secret-keys.ts'
import type { Fetch } from './fetch-json.ts'
import { browse, cookieOf, ORIGIN, whoIs } from './testing/a-browser.ts'
import { aKey, fakeProvider, OIDC, type SigningKey } from './testing/fake-identity-provider.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

let fake: ReturnType<typeof fakeProvider>
let plane: ReturnType<typeof aControlPlane>
let key: SigningKey
/** Runs before the provider answers a token request. */
let beforeTokens: () => Promise<unknown>
beforeEach(async () => {
  fake = fakeProvider(() => plane.clock.now())
  beforeTokens = async () => undefined
  const fetch: Fetch = async (url, init) => {
    if (url.endsWith('/token')) await beforeTokens()
    return fake.fetch(url, init)
  }
  plane = aControlPlane({ oidc: OIDC, fetch })
  key = await aKey('k1')
  fake.state.keys = [key]
})

const idToken = (claims: Record<string, unknown>) => fake.token(key, { aud: OIDC.clientId, ...claims })
const answers = (status: number, body: object) => {
  fake.state.tokens = { status, body }
}
const rolesAre = async (...roles: string[]) =>
  answers(200, { id_token: await idToken({ realm_access: { roles } }), refresh_token: 'next' })
const tokenRequests = () => fake.state.requests.filter(url => url.endsWith('/token')).length

/** Signs in at the provider, which gives this refresh token. */
async function signIn({ refresh_token, ...claims }: Record<string, unknown> = {}): Promise<string> {
  const redirect = await browse(plane, 'GET', '/login/provider')
  const { searchParams } = new URL(redirect.headers.location ?? '')
  const id_token = await idToken({ nonce: searchParams.get('nonce'), sid: 's-1', ...claims })
  answers(200, { id_token, ...(refresh_token === undefined ? {} : { refresh_token }) })
  const cookie = cookieOf(redirect)
  return cookieOf(await browse(plane, 'GET', `/login/callback?code=c&state=${searchParams.get('state')}`, { cookie }))
}

/** Follows the events until the stream ends. */
async function openStream(cookie: string): Promise<{ hasEnded(): boolean }> {
  const { body } = await browse(plane, 'GET', '/api/v1/events', { cookie })
  if (body === null || typeof body === 'string') throw new Error('no stream')
  let hasEnded = false
  void (async () => {
    for await (const _ of body);
    hasEnded = true
  })()
  return { hasEnded: () => hasEnded }
}

describe('a session of the provider', () => {
  it('ends after an hour when nothing confirms it', async () => {
    const cookie = await signIn()
    await plane.clock.advance(HOUR_MS - 1)
    expect(await whoIs(plane, cookie)).toMatchObject({ name: 'ada', role: 'operator' })
    await plane.clock.advance(1)
    expect(await whoIs(plane, cookie)).toBe(401)
    expect(tokenRequests()).toBe(1)
  })

  it('is confirmed every five minutes with a refresh token, for up to twelve hours', async () => {
    const cookie = await signIn({ refresh_token: 'first' })
    for (let minute = 0; minute < 12 * 60; minute += 5) {
      expect(await whoIs(plane, cookie), `minute ${minute}`).toMatchObject({ role: 'operator' })
      await plane.clock.advance(5 * MINUTE_MS)
      await rolesAre('operator')
    }
    expect(tokenRequests()).toBeGreaterThan(12 * 5)
    expect(await whoIs(plane, cookie)).toBe(401)
  })

  it('takes the role that the provider gives now, and the next refresh token', async () => {
    const cookie = await signIn({ refresh_token: 'first' })
    await plane.clock.advance(5 * MINUTE_MS)
    await rolesAre('user')
    expect(await whoIs(plane, cookie)).toMatchObject({ role: 'user' })
    expect(fake.state.form.get('refresh_token')).toBe('first')
    await plane.clock.advance(5 * MINUTE_MS)
    await whoIs(plane, cookie)
    expect(fake.state.form.get('refresh_token')).toBe('next')
  })

  it('ends an open event stream when the role changes, because the role decides what it shows', async () => {
    const cookie = await signIn({ refresh_token: 'first' })
    const { hasEnded } = await openStream(cookie)
    await plane.clock.advance(5 * MINUTE_MS - 4_000)
    await rolesAre('user')
    expect(hasEnded()).toBe(false)
    // Signatures are verified in real time, so the answer may be late.
    const hasEndedBy = () => plane.clock.advance(4_000).then(hasEnded)
    await expect.poll(hasEndedBy).toBe(true)
    expect(await whoIs(plane, cookie)).toMatchObject({ role: 'user' })
  })

  const access = (method: string, path: string) => plane.send(method, `people/oidc%3Au-1${path}`)

  it.each([
    ['revoked', () => access('POST', '/revoke')],
    ['removed', () => access('DELETE', '')],
  ])('does not come back with a confirmation after its person was %s', async (_, end) => {
    const cookie = await signIn({ refresh_token: 'first' })
    await plane.clock.advance(MINUTE_MS)
    await end()
    await rolesAre('operator')
    for (let minute = 0; minute < 12; minute += 6) {
      expect(await whoIs(plane, cookie)).toBe(401)
      await plane.clock.advance(6 * MINUTE_MS)
    }
    const again = await signIn()
    expect([await whoIs(plane, again), await whoIs(plane, cookie)]).toEqual([expect.anything(), 401])
  })

  it.each([
    ['revoked', () => access('POST', '/revoke')],
    ['removed', () => access('DELETE', '')],
  ])('does not outlive its person that is %s during a confirmation', async (_, end) => {
    const cookie = await signIn({ refresh_token: 'first' })
    await plane.clock.advance(5 * MINUTE_MS)
    await rolesAre('operator')
    beforeTokens = async () => {
      await plane.clock.advance(1)
      await end()
    }
    expect(await whoIs(plane, cookie)).toBe(401)
    expect(await whoIs(plane, cookie)).toBe(401)
  })

  it('answers the next requests with the new role too', async () => {
    const cookie = await signIn({ refresh_token: 'first' })
    await plane.clock.advance(5 * MINUTE_MS)
    await rolesAre('user')
    for (const _ of [1, 2, 3]) expect(await whoIs(plane, cookie)).toMatchObject({ role: 'user' })
  })

  it.each([
    ['its person is revoked', () => access('POST', '/revoke')],
    ['it is ended', async (cookie: string) => browse(plane, 'POST', '/logout', { cookie, ...ORIGIN })],
  ])('ends its open stream within five seconds when %s while the provider is slow', async (_, end) => {
    const cookie = await signIn({ refresh_token: 'first' })
    const { hasEnded } = await openStream(cookie)
    let hasAsked = false
    beforeTokens = async () => {
      hasAsked = true
      await plane.clock.sleep(60_000)
    }
    for (let second = 0; second < 330 && !hasAsked; second++) await plane.clock.advance(1_000)
    expect([hasAsked, hasEnded()]).toEqual([true, false])
    await end(cookie)
    await plane.clock.advance(5_000)
    expect(hasEnded()).toBe(true)
  })

  it('stores no refresh token in clear', async () => {
    await signIn({ refresh_token: 'a-refresh-token' })
    const [session] = await plane.all('browserSessions')
    expect(session?.provider?.sealed_refresh_token).toEqual(expect.any(String))
    expect(JSON.stringify(session)).not.toContain('a-refresh-token')
  })

  it.each([
    ['the person is gone', () => answers(400, { error: 'invalid_grant' })],
    ['the role is gone', () => rolesAre('something-else')],
  ])('ends at the next check when %s', async (_, change) => {
    const cookie = await signIn({ refresh_token: 'first' })
    await plane.clock.advance(5 * MINUTE_MS)
    await change()
    expect(await whoIs(plane, cookie)).toBe(401)
    expect(await plane.all('browserSessions')).toEqual([])
    const [entry] = (await plane.send('GET', 'audit')).json.items
    expect(entry).toMatchObject({ action: 'logout', actor: { id: 'oidc:u-1' } })
    expect(entry.reason).not.toBe('')
  })

  it('outlives a provider that does not respond for less than an hour, and no longer', async () => {
    const cookie = await signIn({ refresh_token: 'first' })
    fake.state.isDown = true
    for (let minute = 0; minute < 55; minute += 5) {
      await plane.clock.advance(5 * MINUTE_MS)
      expect(await whoIs(plane, cookie)).toMatchObject({ role: 'operator' })
    }
    await plane.clock.advance(5 * MINUTE_MS)
    expect(await whoIs(plane, cookie)).toBe(401)
  })

  it('asks the provider once for any number of requests on any replica', async () => {
    const store = openSqliteStore(':memory:')
    const shared = { store, oidc: OIDC, fetch: fake.fetch, secretKey: new Uint8Array(32).fill(3) }
    plane = aControlPlane(shared)
    const other = aControlPlane({ ...shared, clock: plane.clock })
    const cookie = await signIn({ refresh_token: 'first' })
    await plane.clock.advance(5 * MINUTE_MS)
    await rolesAre('operator')
    const all = [plane, other, plane, other].map(on => whoIs(on, cookie))
    for (const actor of await Promise.all(all)) expect(actor).toMatchObject({ name: 'ada' })
    expect(tokenRequests()).toBe(2)
  })
})

it('asks the provider from a replica that has the key of the refresh token', async () => {
  const store = openSqliteStore(':memory:')
  const shared = { store, oidc: OIDC, fetch: fake.fetch }
  plane = aControlPlane({ ...shared, secretKeys: givenKeys([new Uint8Array(32).fill(3)]) })
  const other = aControlPlane({
    ...shared,
    clock: plane.clock,
    secretKeys: givenKeys([new Uint8Array(32).fill(4)]),
  })
  const cookie = await signIn({ refresh_token: 'first' })
  await plane.clock.advance(5 * MINUTE_MS)
  await rolesAre('user')
  expect(await whoIs(other, cookie)).toMatchObject({ role: 'operator' })
  expect(await whoIs(plane, cookie)).toMatchObject({ role: 'user' })
})

describe('a logout at the provider', () => {
  const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  let jti = 0
  const logoutToken = (claims: Record<string, unknown> = {}) => {
    jti += 1
    const own = { aud: OIDC.clientId, iat: fake.seconds(), jti: `j-${jti}`, events: EVENTS, sid: 's-1' }
    return fake.token(key, { ...own, ...claims })
  }
  const send = (token: string) =>
    browse(plane, 'POST', '/login/provider-logout', {
      'content-type': 'application/x-www-form-urlencoded',
      body: String(new URLSearchParams({ logout_token: token })),
    })

  it('ends the session that it names at once, and no other', async () => {
    const [ended, other] = [await signIn({ sid: 's-1' }), await signIn({ sid: 's-2' })]
    await whoIs(plane, ended)
    expect(await send(await logoutToken())).toMatchObject({ status: 200, body: null })
    expect(await whoIs(plane, ended)).toBe(401)
    expect(await whoIs(plane, other)).toMatchObject({ name: 'ada' })
  })

  it('ends an open event stream within four seconds', async () => {
    const { hasEnded } = await openStream(await signIn())
    await plane.clock.advance(10_500)
    expect(hasEnded()).toBe(false)
    await send(await logoutToken())
    await plane.clock.advance(4_000)
    expect(hasEnded()).toBe(true)
  })

  it('ends all sessions of a person when it names none', async () => {
    const mine = [await signIn({ sid: 's-1' }), await signIn({ sid: undefined })]
    const other = await signIn({ sub: 'u-2' })
    expect((await send(await logoutToken({ sid: undefined }))).status).toBe(200)
    for (const cookie of mine) expect(await whoIs(plane, cookie)).toBe(401)
    expect(await whoIs(plane, other)).toMatchObject({ id: 'oidc:u-2' })
  })

  it('ends no session of another person with the same id', async () => {
    const cookie = await signIn({ sub: 'u-2' })
    await send(await logoutToken())
    expect(await whoIs(plane, cookie)).toMatchObject({ id: 'oidc:u-2' })
  })

  it('works once, so that a copy can’t end a later session', async () => {
    const token = await logoutToken()
    expect((await send(token)).status).toBe(200)
    const cookie = await signIn()
    const again = await send(token)
    expect([again.status, JSON.parse(String(again.body))]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'this logout token was used before' },
    ])
    expect(await whoIs(plane, cookie)).toMatchObject({ name: 'ada' })
  })

  it('is refused without a valid token', async () => {
    const cookie = await signIn()
    const wrong = [
      '',
      'x',
      await fake.token(key, { aud: OIDC.clientId }),
      await fake.token(await aKey('k1'), { events: EVENTS }),
    ]
    for (const token of wrong) expect((await send(token)).status).toBe(400)
    expect(await whoIs(plane, cookie)).toMatchObject({ name: 'ada' })
  })
})
