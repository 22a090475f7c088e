import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../resources.ts'

type Plane = ReturnType<typeof aControlPlane>

let plane: Plane
beforeEach(() => {
  plane = aControlPlane()
})

const HOST = 'localhost:8080'
const ORIGIN = { origin: `http://${HOST}` }

/** A request of a browser: no token, with its cookie and origin. */
const browse = (method: string, url: string, headers: Record<string, string> = {}, on = plane) =>
  on.dispatch({ method, url, headers: { host: HOST, ...headers }, body: null, signal: new AbortController().signal })

const linkFor = async (headers: Record<string, string> = {}): Promise<string> =>
  (await plane.send('POST', 'login-links', { headers })).json.url

const cookieOf = (answer: { headers: Readonly<Record<string, string>> }) =>
  answer.headers['set-cookie']?.split(';')[0] ?? ''

const cookie = async (headers: Record<string, string> = {}) => cookieOf(await browse('GET', await linkFor(), headers))

const whoIs = async (session: string, on = plane) => {
  const { status, body } = await browse('GET', '/api/v1/info', { cookie: session }, on)
  return status === 200 ? JSON.parse(String(body)).actor : status
}

describe('a login link', () => {
  it('creates a session that scripts can’t read and other sites can’t use', async () => {
    const answer = await browse('GET', await linkFor())
    expect(answer).toMatchObject({ status: 303, headers: { location: '/' } })
    expect(answer.headers['set-cookie']).toMatch(
      /^lcm_session_8080=[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    )
    expect(await whoIs(cookieOf(answer))).toMatchObject({ name: 'admin', role: 'admin' })
  })

  it('works once', async () => {
    const link = await linkFor()
    await browse('GET', link)
    const again = await browse('GET', link)
    expect(again).toMatchObject({ status: 303, headers: { location: '/#/login-failed' } })
    expect(again.headers['set-cookie']).toBeUndefined()
  })

  it('works for ten minutes', async () => {
    const link = await linkFor()
    await plane.clock.advance(10 * 60_000 + 1)
    expect((await browse('GET', link)).headers['set-cookie']).toBeUndefined()
  })

  it('is refused when its code is made up', async () => {
    for (const url of ['/login', '/login?code=', '/login?code=guess', `/login?code=${'a'.repeat(32)}`]) {
      const answer = await browse('GET', url)
      expect(answer).toMatchObject({ status: 303, headers: { location: '/#/login-failed' } })
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
  })

  it('logs in as its creator', async () => {
    const url = `/login?code=${await plane.access.createLoginCode(actor('operator'))}`
    expect(await whoIs(cookieOf(await browse('GET', url)))).toMatchObject({ name: 'operator', role: 'operator' })
  })

  it('is not created for a controller', async () => {
    await expect(plane.access.createLoginCode(actor('controller'))).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('works once on another replica too', async () => {
    const secretKey = new Uint8Array(32).fill(7)
    const store = openSqliteStore(':memory:')
    const [one, two] = [aControlPlane({ store, secretKey }), aControlPlane({ store, secretKey })]
    const url = `/login?code=${await one.access.createLoginCode(actor('admin'))}`
    const answers = await Promise.all([one, two, one, two].map(on => browse('GET', url, {}, on)))
    const cookies = answers.map(cookieOf).filter(each => each !== '')
    expect(cookies).toHaveLength(1)
    for (const on of [one, two])
      expect(await whoIs(cookies[0] ?? '', on)).toMatchObject({ name: 'admin', role: 'admin' })
  })

  it('stores no code, and is deleted when it expires or exceeds the limit', async () => {
    const codes = plane.store.collection(RESOURCES.loginCodes)
    const kept = () => codes.list({ limit: 1000 })
    const first = await plane.access.createLoginCode(actor('admin'))
    expect(JSON.stringify(await kept())).not.toContain(first)
    await plane.clock.advance(1)
    for (let i = 0; i < 100; i++) await plane.access.createLoginCode(actor('admin'))
    expect(await kept()).toHaveLength(100)
    expect((await browse('GET', `/login?code=${first}`)).headers.location).toBe('/#/login-failed')
    await plane.clock.advance(10 * 60_000 + 1)
    await plane.access.createLoginCode(actor('admin'))
    expect(await kept()).toHaveLength(1)
  })
})

it('an actor over the limit of links loses only its own', async () => {
  const mine = await plane.access.createLoginCode(actor('admin'))
  await plane.clock.advance(1)
  for (let i = 0; i < 101; i++) await plane.access.createLoginCode(actor('operator'))
  expect(await whoIs(cookieOf(await browse('GET', `/login?code=${mine}`)))).toMatchObject({ name: 'admin' })
})

const actor = (role: 'admin' | 'operator' | 'controller') => ({ id: role, name: role, role, service: null })

describe('a browser session', () => {
  it('ends after twelve hours', async () => {
    const session = await cookie()
    await plane.clock.advance(12 * 60 * 60_000 - 1)
    expect(await whoIs(session)).toMatchObject({ name: 'admin' })
    await plane.clock.advance(1)
    expect(await whoIs(session)).toBe(401)
  })

  it('is refused when it was modified', async () => {
    const [name, sealed = ''] = (await cookie()).split('=')
    const swapped = sealed.startsWith('A') ? `B${sealed.slice(1)}` : `A${sealed.slice(1)}`
    expect(await whoIs(`${name}=${sealed}`)).toMatchObject({ name: 'admin' })
    for (const forged of [swapped, sealed.slice(0, -4), `${sealed}AAAA`, '', 'x.y', 'A'.repeat(200)]) {
      expect(await whoIs(`${name}=${forged}`), forged).toBe(401)
    }
  })

  it('is valid in this installation only', async () => {
    expect(await whoIs(await cookie(), aControlPlane({ secretKey: new Uint8Array(32) }))).toBe(401)
  })

  it('is separate from the one of another LCM on the same machine', async () => {
    const other = await cookie({ host: 'localhost:9000' })
    expect(other).toMatch(/^lcm_session_9000=/)
    expect(await whoIs(other)).toBe(401)
    expect(await whoIs(`${other}; ${await cookie()}`)).toMatchObject({ name: 'admin' })
    expect(await cookie({ host: 'lcm.example' })).toMatch(/^lcm_session=/)
  })

  it('can change things only from the console itself', async () => {
    const session = await cookie()
    const act = (headers: Record<string, string>) =>
      browse('POST', '/api/v1/login-links', { cookie: session, ...headers })
    for (const origin of ['https://evil.example', 'http://localhost:9999', 'null', '']) {
      expect(await act({ origin }), origin).toMatchObject({ status: 403 })
    }
    expect(await act({})).toMatchObject({ status: 403 })
    expect((await act(ORIGIN)).status).toBe(201)
  })

  it('is ignored when a request has a token, so that a cookie never blocks a command', async () => {
    const headers = { cookie: await cookie(), authorization: 'Bearer admin' }
    expect((await browse('POST', '/api/v1/login-links', headers)).status).toBe(201)
  })

  it('ends with the token that created it', async () => {
    const token = (await plane.send('POST', 'tokens', { json: { name: 'tmp', role: 'admin' } })).json
    const link = await linkFor({ authorization: `Bearer ${token.secret}` })
    const unused = await linkFor({ authorization: `Bearer ${token.secret}` })
    const session = cookieOf(await browse('GET', link))
    expect(await whoIs(session)).toMatchObject({ name: 'tmp', role: 'admin' })
    await plane.send('DELETE', `tokens/${token.id}`)
    expect(await whoIs(session)).toBe(401)
    expect((await browse('GET', unused)).headers.location).toBe('/#/login-failed')
  })

  it('ends when the process gets another token for the same actor', async () => {
    const session = await cookie()
    plane.access.grant('a new one', actor('admin'))
    expect(await whoIs(session)).toBe(401)
    plane.access.grant('admin', actor('admin'))
    expect(await whoIs(session)).toMatchObject({ name: 'admin' })
  })

  it.each([
    ['https://lcm.example', 'https', true],
    ['https://lcm.example', 'https, http', true],
    ['https://lcm.example', 'http', false],
    ['http://lcm.example', 'https', false],
    [null, 'https', false],
  ])('has a Secure cookie when it came over https: public %s, forwarded %s', async (publicUrl, proto, secure) => {
    plane = aControlPlane({ publicUrl })
    const answer = await browse('GET', await linkFor(), { 'x-forwarded-proto': proto })
    expect(answer.headers['set-cookie']?.endsWith('; Secure')).toBe(secure)
  })

  it('accepts the public address behind a proxy that uses another name', async () => {
    plane = aControlPlane({ publicUrl: 'https://lcm.example' })
    const headers = { cookie: await cookie(), host: HOST }
    const act = (origin: string) => browse('POST', '/api/v1/login-links', { ...headers, origin })
    expect((await act('https://lcm.example')).status).toBe(201)
    expect((await act('http://lcm.example')).status).toBe(403)
  })
})

describe('logging out', () => {
  it('deletes the cookie', async () => {
    const answer = await browse('POST', '/logout', { cookie: await cookie(), ...ORIGIN })
    expect(answer).toMatchObject({ status: 204, body: null })
    expect(answer.headers['set-cookie']).toBe('lcm_session_8080=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0')
  })

  it('is refused for another site', async () => {
    const session = await cookie()
    for (const headers of [{}, { origin: 'https://evil.example' }]) {
      const answer = await browse('POST', '/logout', { cookie: session, ...headers })
      expect(answer.status).toBe(403)
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
    expect((await browse('GET', '/logout', ORIGIN)).status).toBe(405)
  })
})

describe('the metrics', () => {
  it('require a token or a session', async () => {
    expect((await browse('GET', '/metrics')).status).toBe(401)
    expect((await browse('GET', '/metrics', { cookie: await cookie() })).status).toBe(200)
  })

  it('are public when the setting says so', async () => {
    plane = aControlPlane({ metricsPublic: true })
    expect(await browse('GET', '/metrics')).toMatchObject({ status: 200, body: expect.stringContaining('# metrics\n') })
  })
})
