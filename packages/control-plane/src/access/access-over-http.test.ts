import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { systemClock } from '@lcm/runtime/clock'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { afterEach, describe, expect, it } from 'vitest'
import { startServer } from '../http/server.ts'
import { STORE_SCHEMA } from '../resources.ts'
import { trustedProxies } from './client-address.ts'

type Server = Awaited<ReturnType<typeof startServer>>

let server: Server
afterEach(() => server.close())

const HERE = { clock: systemClock, host: 'localhost', port: 0, hostnames: ['localhost'], consoleDir: null }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const ask = (token: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}/api/v1/info`, { headers: { ...bearer(token), ...headers } })
const signIn = (credentials: object, origin = server.url) =>
  fetch(`${server.url}/login`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify(credentials),
  })

describe('wrong tokens of one client', () => {
  it('are refused with 429 after twenty, and a right one is accepted', async () => {
    server = await startServer({ ...HERE, dispatch: aControlPlane().dispatch })
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask('wrong')))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(20)
    const refused = await ask('wrong')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await ask('admin')).status).toBe(200)
  })

  it('a thousand of them, well formed, keep none of 20 users at the same address from signing in', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lcm-flood-'))
    const store = openSqliteStore(join(folder, 'lcm.sqlite'), { schema: STORE_SCHEMA })
    const plane = aControlPlane({ store, clock: systemClock })
    server = await startServer({ ...HERE, dispatch: plane.dispatch })
    const users = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { json } = await plane.send('POST', 'tokens', { json: { name: `user-${index}`, role: 'user' } })
        return String(json.secret)
      }),
    )
    const wrong = (index: number) => ask(`lcm_${String(index).padStart(43, 'x')}`).then(({ status }) => status)
    const flood = Array.from({ length: 1_000 }, (_, index) => wrong(index))
    const calls = await Promise.all(users.map(token => ask(token).then(({ status }) => status)))
    const sessions = await Promise.all(users.map(token => signIn({ token }).then(({ status }) => status)))
    const refused = await Promise.all(flood)
    expect(calls).toEqual(users.map(() => 200))
    expect(sessions).toEqual(users.map(() => 204))
    expect(refused.filter(status => status === 401)).toHaveLength(20)
    expect(refused.filter(status => status === 429)).toHaveLength(980)
    await store.close()
    rmSync(folder, { recursive: true })
  })

  it('count by the address that a trusted proxy saw', async () => {
    const trusted = trustedProxies(['127.0.0.1', '::1'])
    server = await startServer({ ...HERE, dispatch: aControlPlane().dispatch, trustedProxies: trusted })
    const from = (address: string) => ask('wrong', { 'x-forwarded-for': `192.0.2.1, ${address}` })
    for (let i = 0; i < 20; i++) await from('203.0.113.7')
    expect([(await from('203.0.113.7')).status, (await from('203.0.113.8')).status]).toEqual([429, 401])
  })
})

it('signs in with a login link, and out', async () => {
  const plane = aControlPlane()
  server = await startServer({ ...HERE, dispatch: plane.dispatch })
  const { url } = (await plane.send('POST', 'login-links')).json
  const login = await signIn({ code: url.split('code=')[1] })
  const [cookie = ''] = login.headers.getSetCookie().map(each => each.split(';')[0])
  expect(cookie).toContain(`lcm_session_${new URL(server.url).port}=`)
  const info = () => fetch(`${server.url}/api/v1/info`, { headers: { cookie } })
  expect((await info()).status).toBe(200)
  const logout = await fetch(`${server.url}/logout`, { method: 'POST', headers: { cookie, origin: server.url } })
  expect([logout.status, logout.headers.getSetCookie()[0]]).toEqual([204, expect.stringContaining('Max-Age=0')])
  expect((await info()).status).toBe(401)
})

it('takes no https origin for a server on plain http', async () => {
  const plane = aControlPlane()
  server = await startServer({ ...HERE, dispatch: plane.dispatch })
  const refused = await signIn({ token: 'admin' }, server.url.replace('http:', 'https:'))
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []])
})

it('sets several cookies, and passes on the client address of a request', async () => {
  const seen: ApiRequest[] = []
  const dispatch = async (request: ApiRequest): Promise<ApiResponse> => {
    seen.push(request)
    return { status: 200, headers: { 'set-cookie': 'a=1; Path=/\nb=2' }, body: '' }
  }
  server = await startServer({ ...HERE, dispatch })
  const answer = await fetch(`${server.url}/login/callback?code=x`)
  expect(answer.headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2'])
  expect(seen[0]).toMatchObject({ url: '/login/callback?code=x', remote: expect.stringMatching(/^127\.|^::1$/) })
})

it.each([
  ['https://lcm.example', 'max-age=31536000'],
  ['http://lcm.example', null],
  [null, null],
])('tells browsers to stay with https when the public address is %s', async (publicUrl, expected) => {
  server = await startServer({ ...HERE, dispatch: aControlPlane({ publicUrl }).dispatch, publicUrl })
  for (const path of ['/health', '/nothing', '/%'])
    expect((await fetch(`${server.url}${path}`)).headers.get('strict-transport-security')).toBe(expected)
})
