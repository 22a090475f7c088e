import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { aKey, fakeProvider, OIDC } from './testing/fake-identity-provider.ts'

const HOST = 'localhost:8080'
let plane: ReturnType<typeof aControlPlane>
let fake: ReturnType<typeof fakeProvider>
beforeEach(async () => {
  fake = fakeProvider(() => plane.clock.now())
  plane = aControlPlane({ oidc: OIDC, fetch: fake.fetch })
  fake.state.keys = [await aKey('k1')]
})

function signed(claims: Record<string, unknown> = {}): Promise<string> {
  const [key] = fake.state.keys
  if (!key) throw new Error('no key')
  return fake.token(key, { iat: fake.seconds(), exp: fake.seconds() + 3_600, ...claims })
}
const askWith = (token: string, path = 'info') =>
  plane.send('GET', path, { headers: { authorization: `Bearer ${token}` } })
const ask = async (claims: Record<string, unknown> = {}) => askWith(await signed(claims))
const browse = (url: string, cookie = '') =>
  plane.dispatch({
    method: 'GET',
    url,
    headers: { host: HOST, cookie },
    body: null,
    signal: new AbortController().signal,
  })
const cookieIn = (answer: Awaited<ReturnType<typeof browse>>) => answer.headers['set-cookie']?.split(';')[0] ?? ''

async function signIn(claims: Record<string, unknown> = {}): Promise<string> {
  const redirect = await browse('/login/provider')
  const { searchParams } = new URL(redirect.headers.location ?? '')
  fake.state.idToken = await signed({ aud: OIDC.clientId, nonce: searchParams.get('nonce'), ...claims })
  return cookieIn(await browse(`/login/callback?code=c&state=${searchParams.get('state')}`, cookieIn(redirect)))
}
const statusOf = async (cookie: string) => (await browse('/api/v1/info', cookie)).status
const ADA = 'oidc%3Au-1'
const ada = async () => (await plane.send('GET', `people/${ADA}`)).json
const role = (name: string) => ({ realm_access: { roles: [name] } })

describe('a person of the identity provider', () => {
  it('is recorded when it uses the API or signs in', async () => {
    await ask({ email: 'ada@example.org', groups: ['bgp'] })
    const profile = { name: 'ada', email: 'ada@example.org', role: 'operator', groups: ['bgp'] }
    expect(await ada()).toMatchObject({ ...profile, id: 'oidc:u-1', source: 'provider', version: 1 })
    await signIn({ sub: 'u-2', preferred_username: 'bob' })
    expect((await plane.all('people')).map(({ name }) => name)).toEqual(['ada', 'bob'])
  })

  it('is written only when something changed', async () => {
    for (let request = 0; request < 3; request++) {
      await ask()
      await plane.clock.advance(2_000)
    }
    expect((await ada()).version).toBe(1)
    await ask({ preferred_username: 'Ada L', ...role('author') })
    expect(await ada()).toMatchObject({ version: 2, name: 'Ada L', role: 'author' })
  })

  it('keeps its id, sessions and record when its name changes', async () => {
    const first = await ask()
    const second = await ask({ preferred_username: 'lovelace' })
    expect([first.json.actor.id, second.json.actor.id]).toEqual(['oidc:u-1', 'oidc:u-1'])
    expect(await plane.all('people')).toHaveLength(1)
  })

  it('loses its browser sessions with another role', async () => {
    const cookie = await signIn()
    expect(await statusOf(cookie)).toBe(200)
    await ask(role('user'))
    expect(await statusOf(cookie)).toBe(401)
    expect(await statusOf(await signIn(role('user')))).toBe(200)
  })

  it('loses tokens and browser sessions when all access is revoked, until it signs in again', async () => {
    const [token, cookie] = [await signed(), await signIn()]
    await plane.clock.advance(5_000)
    expect((await plane.send('POST', `people/${ADA}/revoke`)).status).toBe(200)
    expect([(await askWith(token)).status, await statusOf(cookie)]).toEqual([401, 401])
    await plane.clock.advance(1_000)
    expect([(await ask()).status, await statusOf(await signIn())]).toEqual([200, 200])
    expect((await askWith(token)).status).toBe(401)
  })

  it('gets no older role from an old token after a revocation', async () => {
    const token = await signed(role('admin'))
    await ask(role('user'))
    await plane.clock.advance(5_000)
    await plane.send('POST', `people/${ADA}/revoke`)
    expect((await askWith(token)).status).toBe(401)
    expect(await ada()).toMatchObject({ role: 'user' })
  })

  it('gets no older role back from an old token', async () => {
    const old = await signed(role('admin'))
    await askWith(old)
    await plane.clock.advance(5_000)
    await ask(role('user'))
    expect((await askWith(old)).json.actor).toMatchObject({ role: 'user' })
    expect(await ada()).toMatchObject({ role: 'user', version: 2 })
  })

  it('is managed by the provider', async () => {
    await ask()
    const managed = { status: 409, json: { code: 'managed_by_provider' } }
    expect(await plane.send('PATCH', `people/${ADA}`, { json: { role: 'admin' } })).toMatchObject(managed)
    expect(await plane.send('POST', `people/${ADA}/invite`)).toMatchObject(managed)
  })

  it('may have tokens of LCM, with no more than its role', async () => {
    await ask()
    const json = { name: 'script', role: 'operator', person_id: 'oidc:u-1' }
    const { secret } = (await plane.send('POST', 'tokens', { json })).json
    expect((await askWith(secret)).json.actor).toEqual({ id: 'oidc:u-1', name: 'ada', role: 'operator' })
    await ask(role('user'))
    expect((await askWith(secret)).json.actor).toMatchObject({ role: 'user' })
  })

  it('comes back after its removal with the next sign-in', async () => {
    const cookie = await signIn()
    expect((await plane.send('DELETE', `people/${ADA}`)).status).toBe(204)
    await plane.clock.advance(1)
    expect(await statusOf(cookie)).toBe(401)
    expect(await statusOf(await signIn())).toBe(200)
    expect(await statusOf(cookie)).toBe(401)
  })

  it('is not brought back by a token from before its removal', async () => {
    const old = await signed()
    await askWith(old)
    await plane.clock.advance(5_000)
    await plane.send('DELETE', `people/${ADA}`)
    expect((await askWith(old)).status).toBe(401)
    await plane.clock.advance(1_000)
    expect((await ask()).status).toBe(200)
  })

  it('is refused while it is merged into another', async () => {
    await ask()
    const into = (await plane.send('POST', 'people', { json: { name: 'Ada', role: 'operator' } })).json.id
    await plane.send('POST', `people/${ADA}/merge`, { json: { into } })
    expect(await ask()).toMatchObject({ status: 409, json: { code: 'person_merging' } })
  })
})
