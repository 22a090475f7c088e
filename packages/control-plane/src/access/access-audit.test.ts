import type { ApiRequest } from '@lcm/contract/route-spec'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { beforeEach, describe, expect, it } from 'vitest'
import { browse, codeOf, cookieOf, ORIGIN, signIn } from './testing/a-browser.ts'

let log: ReturnType<typeof recordingLogger>
let plane: ReturnType<typeof aControlPlane>
beforeEach(() => {
  log = recordingLogger()
  plane = aControlPlane({ log })
})

const SECRET = `lcm_${'q'.repeat(43)}`
const ADDRESS = '203.0.113.9'

const from = (remote: string, headers: Record<string, string> = {}) => ({
  dispatch: (request: ApiRequest) =>
    plane.dispatch({ ...request, remote, headers: { ...request.headers, ...headers } }),
})
const wrongToken = (remote = ADDRESS, headers: Record<string, string> = {}) =>
  browse(from(remote, headers), 'GET', '/api/v1/info', { authorization: `Bearer ${SECRET}` })

interface Entry {
  readonly action: string
  readonly resource: string
  readonly actor: { readonly name: string }
  readonly after: Readonly<Record<string, unknown>>
}
const entries = async (action: string): Promise<Entry[]> =>
  (await plane.send('GET', 'audit?limit=1000')).json.items.filter((entry: Entry) => entry.action === action)
const metric = async (reason: string) =>
  new RegExp(`^lcm_access_refused_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(
    String((await plane.send('GET', '/metrics')).body),
  )?.[1]

describe('the audit log', () => {
  it('has each sign-in and its end, with address and browser', async () => {
    const browser = from(ADDRESS, { 'user-agent': 'Firefox/\u001b[2J140\u202e' })
    const { url } = (await plane.send('POST', 'login-links', { remote: ADDRESS })).json
    const cookie = cookieOf(await signIn(browser, { code: codeOf(url) }))
    await plane.clock.advance(1)
    await signIn(browser, { token: 'operator' })
    await browse(browser, 'POST', '/logout', { cookie, ...ORIGIN })
    const origin = { address: ADDRESS, user_agent: 'Firefox/[2J140' }
    expect(await entries('login-link')).toMatchObject([{ actor: { name: 'admin' }, after: { address: ADDRESS } }])
    expect((await entries('login')).map(({ actor, after }) => [actor.name, after])).toEqual([
      ['operator', { signed_in_by: 'token', ...origin }],
      ['admin', { signed_in_by: 'login_link', ...origin }],
    ])
    expect(await entries('logout')).toMatchObject([{ actor: { name: 'admin' }, after: origin }])
  })

  it('has a refused token at once, with no part of it', async () => {
    await wrongToken()
    const [entry] = await entries('refuse')
    expect(entry).toMatchObject({
      resource: `address:${ADDRESS}`,
      actor: { name: 'unknown' },
      after: { refusal: 'wrong_token', attempts: 1, user_agent: '' },
    })
    expect(JSON.stringify(entry)).not.toContain('qqqq')
    expect(log.lines.filter(({ message }) => message === 'access refused')).toHaveLength(1)
  })

  it('has one sum a minute of a flood, and the lock-out', async () => {
    const stop = plane.run('housekeeping')
    await plane.clock.advance(1_000)
    for (let i = 0; i < 1_000; i++) await wrongToken()
    expect([(await entries('refuse')).length, (await entries('lock-out')).length]).toEqual([1, 1])
    await plane.clock.advance(60_000)
    await stop()
    const sums = (await entries('refuse')).map(({ after }) => after.attempts)
    const locked = (await entries('lock-out')).map(({ after }) => after.attempts)
    expect([sums.toSorted(), locked.toSorted()]).toEqual([
      [1, 19],
      [1, 979],
    ])
    expect([await metric('wrong_token'), await metric('too_many_attempts')]).toEqual(['20', '980'])
  })

  it('has few entries of a flood from many addresses', async () => {
    for (let i = 0; i < 500; i++)
      await wrongToken(`198.51.${i >> 8}.${i & 255}`, { authorization: `Bearer wrong-${i}` })
    const refused = await entries('refuse')
    expect(refused.length).toBeLessThanOrEqual(101)
    expect(refused.map(({ resource }) => resource)).toContain('address:others')
  })

  it('has writes that another site caused', async () => {
    const cookie = cookieOf(await signIn(plane, { token: 'admin' }))
    await browse(from(ADDRESS), 'PATCH', '/api/v1/settings', { cookie, origin: 'https://evil.example', body: '{}' })
    expect(await entries('refuse')).toMatchObject([{ after: { refusal: 'foreign_origin' } }])
    expect(await metric('foreign_origin')).toBe('1')
  })
})

it('cuts a long name of a browser', async () => {
  await wrongToken(ADDRESS, { 'user-agent': 'x'.repeat(5_000) })
  expect((await entries('refuse'))[0]?.after.user_agent).toBe('x'.repeat(200))
})

it('answers 401 also when the refusal can’t be recorded', async () => {
  const { store } = plane
  const journal = { ...store.journal, append: () => Promise.reject(new Error('disk full')) }
  plane = aControlPlane({ store: { ...store, journal }, log })
  expect((await wrongToken()).status).toBe(401)
})
