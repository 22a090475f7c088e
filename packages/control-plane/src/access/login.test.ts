import { toInstant } from '@lcm/domain/instant'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../resources.ts'
import { browse, codeOf, cookieOf, ORIGIN, signIn, whoIs } from './testing/a-browser.ts'

type Plane = ReturnType<typeof aControlPlane>

let plane: Plane
beforeEach(() => {
  plane = aControlPlane()
})

const HOUR_MS = 60 * 60_000

const linkFor = async (headers: Record<string, string> = {}): Promise<string> =>
  (await plane.send('POST', 'login-links', { headers })).json.url

const open = async (link: string, headers: Record<string, string> = {}, on = plane) =>
  signIn(on, { code: codeOf(link) }, headers)

const cookie = async (headers: Record<string, string> = {}) => cookieOf(await open(await linkFor(), headers))

const loginAs = async (role: 'admin' | 'operator') =>
  signIn(plane, { code: await plane.access.createLoginCode(actor(role)) })

const actor = (role: 'admin' | 'operator' | 'controller') => ({ id: role, name: role, role, service: null })

const codeOfProblem = ({ body }: { body: unknown }) => JSON.parse(String(body)).code

describe('a login link', () => {
  it('creates a session that scripts can’t read and other sites can’t use', async () => {
    const answer = await open(await linkFor())
    expect(answer).toMatchObject({ status: 204, body: null })
    expect(answer.headers['set-cookie']).toMatch(
      /^lcm_session_8080=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    )
    expect(await whoIs(plane, cookieOf(answer))).toMatchObject({ name: 'admin', role: 'admin' })
  })

  it('has its code in the fragment, which no server sees', async () => {
    expect(await linkFor()).toMatch(/^\/#\/sign-in\?code=[\w-]{32}$/)
  })

  it('is not used up by a GET, as link scanners send it', async () => {
    const code = codeOf(await linkFor())
    const answer = await browse(plane, 'GET', `/login?code=${code}`)
    expect(answer).toMatchObject({ status: 303, headers: { location: `/#/sign-in?code=${code}` } })
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect((await signIn(plane, { code })).status).toBe(204)
  })

  it('leads to the sign-in page without a code that could be one', async () => {
    for (const url of ['/login', '/login?code=', '/login?code=%3Cscript%3E', '/login?code=a%0d%0ab'])
      expect((await browse(plane, 'GET', url)).headers.location).toBe('/#/sign-in')
  })

  it('works once', async () => {
    const link = await linkFor()
    await open(link)
    const again = await open(link)
    expect([again.status, codeOfProblem(again)]).toEqual([401, 'login_code_invalid'])
    expect(again.headers['set-cookie']).toBeUndefined()
  })

  it('works for ten minutes', async () => {
    const link = await linkFor()
    await plane.clock.advance(10 * 60_000 + 1)
    expect((await open(link)).headers['set-cookie']).toBeUndefined()
  })

  it('is refused when its code is made up', async () => {
    for (const code of ['guess', 'a'.repeat(32)]) expect((await signIn(plane, { code })).status).toBe(401)
  })

  it('logs in as its creator', async () => {
    expect(await whoIs(plane, cookieOf(await loginAs('operator')))).toMatchObject({ name: 'operator' })
  })

  it('is not created for a controller', async () => {
    await expect(plane.access.createLoginCode(actor('controller'))).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('is not created by a browser session, which would outlive its own end', async () => {
    const answer = await browse(plane, 'POST', '/api/v1/login-links', { cookie: await cookie(), ...ORIGIN })
    expect([answer.status, codeOfProblem(answer)]).toEqual([403, 'forbidden'])
  })

  it('works once on another replica too', async () => {
    const store = openSqliteStore(':memory:')
    const [one, two] = [aControlPlane({ store }), aControlPlane({ store })]
    const code = await one.access.createLoginCode(actor('admin'))
    const answers = await Promise.all([one, two, one, two].map(on => signIn(on, { code })))
    const cookies = answers.map(cookieOf).filter(each => each !== '')
    expect(cookies).toHaveLength(1)
    for (const on of [one, two])
      expect(await whoIs(on, cookies[0] ?? '')).toMatchObject({ name: 'admin', role: 'admin' })
  })

  it('stores no code, and is deleted when it expires or exceeds the limit', async () => {
    const codes = plane.store.collection(RESOURCES.loginCodes)
    const kept = () => codes.list({ limit: 1000 })
    const first = await plane.access.createLoginCode(actor('admin'))
    expect(JSON.stringify(await kept())).not.toContain(first)
    await plane.clock.advance(1)
    for (let i = 0; i < 100; i++) await plane.access.createLoginCode(actor('admin'))
    expect(await kept()).toHaveLength(100)
    expect((await signIn(plane, { code: first })).status).toBe(401)
    await plane.clock.advance(10 * 60_000 + 1)
    await plane.access.createLoginCode(actor('admin'))
    expect(await kept()).toHaveLength(1)
  })
})

it('an actor over the limit of links loses only its own', async () => {
  const mine = await plane.access.createLoginCode(actor('admin'))
  await plane.clock.advance(1)
  for (let i = 0; i < 101; i++) await plane.access.createLoginCode(actor('operator'))
  expect(await whoIs(plane, cookieOf(await signIn(plane, { code: mine })))).toMatchObject({ name: 'admin' })
})

describe('a token on the sign-in page', () => {
  it('is exchanged for a session that does not contain it', async () => {
    const token = (await plane.send('POST', 'tokens', { json: { name: 'tmp', role: 'operator' } })).json
    const answer = await signIn(plane, { token: token.secret })
    expect(answer.status).toBe(204)
    expect(await whoIs(plane, cookieOf(answer))).toMatchObject({ id: `token:${token.id}`, name: 'tmp' })
    const [session] = await plane.all('browserSessions')
    expect(session).toMatchObject({ signed_in_by: 'token', actor: { name: 'tmp', role: 'operator' } })
    expect(JSON.stringify(session)).not.toContain(token.secret)
    expect(JSON.stringify(session)).not.toContain(cookieOf(answer).split('=')[1])
  })

  it('is refused when it is unknown, or of a controller', async () => {
    expect((await signIn(plane, { token: 'wrong' })).status).toBe(401)
    expect((await signIn(plane, { token: 'worker-controller' })).status).toBe(403)
  })

  it.each([[{}], [{ code: 'x', token: 'y' }], [{ code: 7 }], [{ token: '' }]])(
    'is refused with a body that is not a sign-in: %j',
    async body => {
      expect((await signIn(plane, body)).status).toBe(400)
    },
  )

  it('is refused with a large body, which is not parsed', async () => {
    expect((await signIn(plane, { token: 'x'.repeat(20_000) })).status).toBe(413)
  })

  it('is refused from another site, so that it can’t sign a browser in as another person', async () => {
    for (const origin of ['https://evil.example', 'http://localhost:9999', 'https://localhost:8080', 'null', '']) {
      const answer = await signIn(plane, { token: 'admin' }, { origin })
      expect([answer.status, answer.headers['set-cookie']], origin).toEqual([403, undefined])
    }
    const none = await browse(plane, 'POST', '/login', { body: '{"token":"admin"}' })
    expect([none.status, codeOfProblem(none)]).toEqual([403, 'foreign_origin'])
  })
})

describe('a browser session', () => {
  it('ends after twelve hours, and its record is deleted', async () => {
    const session = await cookie()
    await plane.clock.advance(12 * HOUR_MS - 1)
    expect(await whoIs(plane, session)).toMatchObject({ name: 'admin' })
    await plane.clock.advance(1)
    expect(await whoIs(plane, session)).toBe(401)
    const stop = plane.run('housekeeping')
    await plane.clock.advance(1_000)
    await stop()
    expect(await plane.all('browserSessions')).toEqual([])
  })

  it('is refused when it was modified, without a store read for what LCM can’t have made', async () => {
    const [name, secret = ''] = (await cookie()).split('=')
    const swapped = secret.startsWith('A') ? `B${secret.slice(1)}` : `A${secret.slice(1)}`
    expect(await whoIs(plane, `${name}=${secret}`)).toMatchObject({ name: 'admin' })
    for (const forged of [swapped, secret.slice(0, -4), `${secret}AAAA`, '', 'x.y', 'A'.repeat(200)])
      expect(await whoIs(plane, `${name}=${forged}`), forged).toBe(401)
  })

  it('is valid in this installation only', async () => {
    expect(await whoIs(aControlPlane(), await cookie())).toBe(401)
  })

  it('survives a restart', async () => {
    const session = await cookie()
    expect(await whoIs(aControlPlane({ store: plane.store }), session)).toMatchObject({ name: 'admin' })
  })

  it('is separate from the one of another LCM on the same machine', async () => {
    const elsewhere = (host: string) => cookie({ host, origin: `http://${host}` })
    const other = await elsewhere('localhost:9000')
    expect(other).toMatch(/^lcm_session_9000=/)
    expect(await whoIs(plane, other)).toBe(401)
    expect(await whoIs(plane, `${other}; ${await cookie()}`)).toMatchObject({ name: 'admin' })
    expect(await elsewhere('lcm.example')).toMatch(/^lcm_session=/)
  })

  it('can change things only from the console itself', async () => {
    const session = await cookie()
    const act = (headers: Record<string, string>) =>
      browse(plane, 'PATCH', '/api/v1/settings', { cookie: session, ...headers, body: '{}', ...JSON_BODY })
    for (const origin of ['https://evil.example', 'http://localhost:9999', 'https://localhost:8080', 'null', ''])
      expect(await act({ origin }), origin).toMatchObject({ status: 403 })
    expect(await act({})).toMatchObject({ status: 403 })
    expect((await act(ORIGIN)).status).toBe(200)
  })

  it('is ignored when a request has a token, so that a cookie never blocks a command', async () => {
    const headers = { cookie: await cookie(), authorization: 'Bearer admin' }
    expect((await browse(plane, 'POST', '/api/v1/login-links', headers)).status).toBe(201)
  })

  it('ends with the token that created it', async () => {
    const token = (await plane.send('POST', 'tokens', { json: { name: 'tmp', role: 'admin' } })).json
    const headers = { authorization: `Bearer ${token.secret}` }
    const [session, unused] = [cookieOf(await open(await linkFor(headers))), await linkFor(headers)]
    expect(await whoIs(plane, session)).toMatchObject({ name: 'tmp', role: 'admin' })
    await plane.send('DELETE', `tokens/${token.id}`)
    expect(await whoIs(plane, session)).toBe(401)
    expect((await open(unused)).status).toBe(401)
  })

  it('ends when its token expires', async () => {
    const expires_at = toInstant(plane.clock.now() + HOUR_MS)
    const { secret } = (await plane.send('POST', 'tokens', { json: { name: 'tmp', role: 'user', expires_at } })).json
    const session = cookieOf(await signIn(plane, { token: secret }))
    await plane.clock.advance(HOUR_MS - 1)
    expect(await whoIs(plane, session)).toMatchObject({ name: 'tmp' })
    await plane.clock.advance(1)
    expect(await whoIs(plane, session)).toBe(401)
  })

  it('can’t begin by a link that another replica made for a token that was just revoked', async () => {
    const other = aControlPlane({ store: plane.store, clock: plane.clock })
    const { secret, person_id } = (await plane.send('POST', 'tokens', { json: { name: 'tmp', role: 'user' } })).json
    const headers = { authorization: `Bearer ${secret}` }
    await other.send('GET', 'info', { headers })
    await plane.clock.advance(900)
    await plane.send('POST', `people/${encodeURIComponent(person_id)}/revoke`)
    await plane.clock.advance(99)
    expect((await other.send('GET', 'info', { headers })).status).toBe(200)
    const { url = '' } = (await other.send('POST', 'login-links', { headers })).json
    await plane.clock.advance(4_000)
    const session = cookieOf(await signIn(other, { code: codeOf(url) }))
    expect([url, await whoIs(plane, session)]).toEqual(['', 401])
  })

  it('ends when the process gets another token for the same actor', async () => {
    const session = await cookie()
    plane.access.grant('a new one', actor('admin'))
    expect(await whoIs(plane, session)).toBe(401)
    plane.access.grant('admin', actor('admin'))
    expect(await whoIs(plane, session)).toMatchObject({ name: 'admin' })
  })

  it('ends with the next sign-in in the same browser', async () => {
    const first = await cookie()
    const second = await cookie({ cookie: first })
    expect(await whoIs(plane, first)).toBe(401)
    expect(await whoIs(plane, second)).toMatchObject({ name: 'admin' })
  })

  it('is one of at most a hundred of an actor: the oldest end', async () => {
    const oldest = await cookie()
    await plane.clock.advance(1)
    for (let i = 0; i < 100; i++) await loginAs('admin')
    expect(await whoIs(plane, oldest)).toBe(401)
    expect(await plane.all('browserSessions')).toHaveLength(100)
  })
})

const JSON_BODY = { 'content-type': 'application/json' }

describe('the cookie', () => {
  const PUBLIC = 'https://lcm.example'

  it.each(['http', 'https'])('is Secure with a prefix at an https address, whatever a header says: %s', async proto => {
    plane = aControlPlane({ publicUrl: PUBLIC })
    const answer = await open(await linkFor(), { origin: PUBLIC, 'x-forwarded-proto': proto })
    expect(answer.headers['set-cookie']).toMatch(
      /^__Host-lcm_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/,
    )
    expect(await whoIs(plane, cookieOf(answer))).toMatchObject({ name: 'admin' })
  })

  it('has the port of its address in its name, which keeps two installations on one host apart', async () => {
    const publicUrl = 'https://localhost:8080'
    plane = aControlPlane({ publicUrl })
    const answer = await open(await linkFor(), { origin: publicUrl })
    expect(answer.headers['set-cookie']).toMatch(/^__Host-lcm_session_8080=/)
    expect(await whoIs(plane, cookieOf(answer))).toMatchObject({ name: 'admin' })
  })

  it.each(['http://lcm.example', null])('is not Secure without https: %s', async publicUrl => {
    plane = aControlPlane({ publicUrl })
    const answer = await open(await linkFor(), { 'x-forwarded-proto': 'https' })
    expect(answer.headers['set-cookie']).toMatch(/^lcm_session_8080=[^;]+; Path=[^;]+; HttpOnly;[^;]+;[^;]+$/)
  })

  it('accepts the public address behind a proxy, with its scheme, also under another name', async () => {
    plane = aControlPlane({ publicUrl: PUBLIC })
    const session = await cookie({ origin: PUBLIC })
    const act = async (origin: string, host: string) =>
      (await browse(plane, 'PATCH', '/api/v1/settings', { cookie: session, origin, host, body: '{}', ...JSON_BODY }))
        .status
    expect(await act(PUBLIC, 'localhost:8080')).toBe(200)
    expect(await act(PUBLIC, 'lcm.example')).toBe(200)
    for (const host of ['localhost:8080', 'lcm.example']) expect(await act('http://lcm.example', host)).toBe(403)
  })
})

describe('logging out', () => {
  it('ends the session on the server and deletes the cookie', async () => {
    const session = await cookie()
    expect(await whoIs(plane, session)).toMatchObject({ name: 'admin' })
    const answer = await browse(plane, 'POST', '/logout', { cookie: session, ...ORIGIN })
    expect(answer).toMatchObject({ status: 204, body: null })
    expect(answer.headers['set-cookie']).toBe('lcm_session_8080=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0')
    expect(await whoIs(plane, session)).toBe(401)
  })

  it('ends it on another replica within a second', async () => {
    const { store, clock } = plane
    const other = aControlPlane({ store, clock })
    const session = await cookie()
    expect(await whoIs(other, session)).toMatchObject({ name: 'admin' })
    await browse(plane, 'POST', '/logout', { cookie: session, ...ORIGIN })
    await clock.advance(1_000)
    expect(await whoIs(other, session)).toBe(401)
  })

  it('is refused for another site', async () => {
    const session = await cookie()
    for (const headers of [{}, { origin: 'https://evil.example' }]) {
      const answer = await browse(plane, 'POST', '/logout', { cookie: session, ...headers })
      expect(answer.status).toBe(403)
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
    expect((await browse(plane, 'GET', '/logout', ORIGIN)).status).toBe(405)
    expect(await whoIs(plane, session)).toMatchObject({ name: 'admin' })
  })
})

describe('the metrics', () => {
  it('require a token or a session', async () => {
    expect((await browse(plane, 'GET', '/metrics')).status).toBe(401)
    expect((await browse(plane, 'GET', '/metrics', { cookie: await cookie() })).status).toBe(200)
  })

  it('are public when the setting says so', async () => {
    plane = aControlPlane({ metricsPublic: true })
    expect(await browse(plane, 'GET', '/metrics')).toMatchObject({
      status: 200,
      body: expect.stringContaining('# metrics\n'),
    })
  })
})
