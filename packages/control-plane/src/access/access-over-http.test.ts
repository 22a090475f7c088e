import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { systemClock } from '@lcm/runtime/clock'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { afterEach, expect, it } from 'vitest'
import { startServer } from '../http/server.ts'

let server: Awaited<ReturnType<typeof startServer>>
afterEach(() => server.close())

const HERE = { clock: systemClock, host: 'localhost', port: 0, hostnames: ['localhost'], consoleDir: null }

it('counts wrong tokens by client address', async () => {
  server = await startServer({ ...HERE, dispatch: aControlPlane().dispatch })
  const ask = (token: string) => fetch(`${server.url}/api/v1/info`, { headers: { authorization: `Bearer ${token}` } })
  const answers = await Promise.all(Array.from({ length: 30 }, () => ask('wrong')))
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(20)
  const refused = await ask('admin')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
})

it('logs in and out', async () => {
  const plane = aControlPlane()
  server = await startServer({ ...HERE, dispatch: plane.dispatch })
  const { url } = (await plane.send('POST', 'login-links')).json
  const login = await fetch(`${server.url}${url}`, { redirect: 'manual' })
  const [cookie = ''] = login.headers.getSetCookie().map(each => each.split(';')[0])
  expect(cookie).toContain(`lcm_session_${new URL(server.url).port}=`)
  expect((await fetch(`${server.url}/api/v1/info`, { headers: { cookie } })).status).toBe(200)
  const logout = await fetch(`${server.url}/logout`, { method: 'POST', headers: { cookie, origin: server.url } })
  expect([logout.status, logout.headers.getSetCookie()[0]]).toEqual([204, expect.stringContaining('Max-Age=0')])
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
