import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import type { CmlCall } from './cml-api.ts'
import { cmlSystemClient } from './cml-system.ts'
import {
  atEnd,
  closeAll,
  PASSWORD,
  refused,
  type StubAnswer,
  type StubRequest,
  stubCml,
  USER_ID,
} from './testing/stub-cml.ts'

afterEach(closeAll)

const never = () => new AbortController().signal

function client(onCall?: (call: CmlCall) => void) {
  const clock = manualClock()
  const cml = cmlSystemClient({ clock, ...(onCall && { onCall }) })
  atEnd(() => cml.close())
  return { clock, cml }
}

const STATS: StubAnswer = { status: 200, json: { all: { cpu: { count: 4, percent: 25 } } } }
const tokenOf = ({ headers }: StubRequest) => String(headers.authorization).replace('Bearer ', '')
const isLogin = ({ path }: StubRequest) => path === '/auth_extended' || path === '/authenticate'

/** A server whose sessions end when `end` is called. */
function withSessions(loggingIn: (request: StubRequest) => StubAnswer | undefined = () => undefined) {
  const dead = new Set<string>()
  const stub = stubCml(request => {
    if (isLogin(request)) return loggingIn(request)
    return dead.has(tokenOf(request)) ? refused(401, 'Invalid token') : STATS
  })
  return { stub, end: (token: string) => void dead.add(token) }
}

describe('a session with a CML server', () => {
  it('is opened once for concurrent calls, and reused', async () => {
    const stub = await withSessions().stub
    const { cml } = client()
    const all = await Promise.all(Array.from({ length: 20 }, () => cml.stats(stub.login, never())))
    expect(all.every(stats => stats.cpu_utilization === 0.25)).toBe(true)
    await cml.stats(stub.login, never())
    expect(stub.loginCount()).toBe(1)
    expect(JSON.parse(stub.requests[0]?.body ?? '')).toEqual({ username: 'admin', password: PASSWORD })
    expect(stub.requests.slice(1).map(tokenOf)).toEqual(Array(21).fill('session-1'))
  })

  it('survives a caller that aborts while it is opened', async () => {
    const stub = await withSessions().stub
    const { cml } = client()
    const abort = new AbortController()
    const first = cml.stats(stub.login, abort.signal)
    const second = cml.stats(stub.login, never())
    abort.abort()
    await expect(first).rejects.toMatchObject({ name: 'CloudError', errorClass: 'transient', code: 'AbortError' })
    expect((await second).cpu_count).toBe(4)
    expect(stub.loginCount()).toBe(1)
  })

  it('that the server no longer knows is opened again, once for all callers', async () => {
    const { stub: starting, end } = withSessions()
    const stub = await starting
    const { cml } = client()
    await cml.stats(stub.login, never())
    end('session-1')
    await Promise.all(Array.from({ length: 6 }, () => cml.stats(stub.login, never())))
    expect(stub.loginCount()).toBe(2)
  })

  it('is opened again only once per call when the server accepts no session at all', async () => {
    const stub = await stubCml(request => (isLogin(request) ? undefined : refused(401, 'Invalid token')))
    const { cml } = client()
    await expect(cml.stats(stub.login, never())).rejects.toMatchObject({ errorClass: 'auth', code: 'HTTP401' })
    expect(stub.loginCount()).toBe(2)
    expect(stub.asked()).toEqual(['GET /system_stats', 'GET /system_stats'])
  })

  it('differs by user, password and pin', async () => {
    const stub = await withSessions().stub
    const { cml } = client()
    const { login } = stub
    const logins = [
      login,
      { ...login, username: 'other' },
      { ...login, password: 'other' },
      { ...login, certificate_sha256: null },
    ]
    for (const each of [...logins, ...logins]) await cml.stats(each, never())
    expect(stub.loginCount()).toBe(4)
  })

  it('is opened by the older call if the newer one is missing, and still names our user', async () => {
    const claims = Buffer.from(JSON.stringify({ sub: USER_ID })).toString('base64url')
    const stub = await stubCml(({ path }) => {
      if (path === '/auth_extended') return refused(404, 'Not Found')
      if (path === '/authenticate') return { status: 200, json: `head.${claims}.signature` }
      return { status: 200, json: { opt_in: false } }
    })
    const { cml } = client()
    const activity = await cml.activity(stub.login, never())
    expect(activity).toEqual({ own_user_id: USER_ID, is_collected: false, events: [] })
  })

  it.each([
    ['no token', { token: null }],
    ['a token that no header takes', { token: 'two\r\nlines' }],
    ['a token of another kind', { token: 7 }],
    ['nothing', null],
  ])('is not opened with %s', async (_name, json) => {
    const stub = await stubCml(request => (isLogin(request) ? { status: 200, json } : STATS))
    const { cml } = client()
    await expect(cml.stats(stub.login, never())).rejects.toMatchObject({ code: 'MalformedAnswer' })
    expect(stub.asked()).toEqual([])
  })

  it('is not opened over plain http', async () => {
    const { cml } = client()
    const login = { url: 'http://127.0.0.1:1', certificate_sha256: null, username: 'admin', password: PASSWORD }
    await expect(cml.stats(login, never())).rejects.toMatchObject({ errorClass: 'transient', code: 'PlainHttp' })
  })
})

describe('a rejected password', () => {
  it('is not tried again for a minute, while other logins continue', async () => {
    const stub = await withSessions(({ body }) =>
      body.includes('wrong') ? refused(403, 'Authentication failed') : undefined,
    ).stub
    const { clock, cml } = client()
    const wrong = { ...stub.login, password: 'wrong' }
    for (let count = 0; count < 5; count++) {
      await expect(cml.stats(wrong, never())).rejects.toMatchObject({ errorClass: 'auth', code: 'HTTP403' })
    }
    expect(stub.loginCount()).toBe(1)
    expect((await cml.stats(stub.login, never())).cpu_count).toBe(4)
    await clock.advance(60_000)
    await expect(cml.stats(wrong, never())).rejects.toMatchObject({ errorClass: 'auth' })
    expect(stub.loginCount()).toBe(3)
  })

  it('is retried with growing delays, so that it locks no account, and at once when it changes', async () => {
    let isRight = false
    const stub = await withSessions(() => (isRight ? undefined : refused(403, 'Authentication failed'))).stub
    const { clock, cml } = client()
    const minutes: number[] = []
    for (let minute = 0; minute < 20; minute += 1) {
      const before = stub.loginCount()
      await expect(cml.stats(stub.login, never())).rejects.toMatchObject({ errorClass: 'auth' })
      if (stub.loginCount() > before) minutes.push(minute)
      await clock.advance(60_000)
    }
    expect(minutes).toEqual([0, 1, 3, 7, 12, 17])
    isRight = true
    await clock.advance(2 * 60_000)
    expect((await cml.stats(stub.login, never())).cpu_count).toBe(4)
    expect((await cml.stats({ ...stub.login, password: 'other' }, never())).cpu_count).toBe(4)
  })

  it('counts only if CML rejects it, not a gateway', async () => {
    const page = { status: 403, text: '<html>403 Forbidden</html>', headers: { 'content-type': 'text/html' } }
    const stub = await stubCml(() => page)
    const { cml } = client()
    for (const times of [1, 2]) {
      await expect(cml.stats(stub.login, never())).rejects.toMatchObject({ errorClass: 'transient' })
      expect(stub.loginCount()).toBe(times)
    }
  })
})

describe('a server that requests a pause', () => {
  it('gets no calls from any caller, longer each time', async () => {
    const stub = await stubCml(() => ({ status: 429, text: '' }))
    const { clock, cml } = client()
    const throttled = (code: string) =>
      expect(cml.stats(stub.login, never())).rejects.toMatchObject({ errorClass: 'throttled', code })
    for (const pauseMs of [2_000, 4_000, 8_000]) {
      await throttled('HTTP429')
      await clock.advance(pauseMs - 1)
      await throttled('Paused')
      await clock.advance(1)
    }
    expect(stub.requests).toHaveLength(3)
  })

  it('may name the time', async () => {
    let isBusy = true
    const stub = await stubCml(request => {
      if (isBusy) return { status: 429, text: '', headers: { 'retry-after': '7' } }
      return isLogin(request) ? undefined : STATS
    })
    const { clock, cml } = client()
    await expect(cml.stats(stub.login, never())).rejects.toMatchObject({ code: 'HTTP429' })
    isBusy = false
    await clock.advance(6_999)
    await expect(cml.stats(stub.login, never())).rejects.toMatchObject({ code: 'Paused' })
    await clock.advance(1)
    expect((await cml.stats(stub.login, never())).cpu_count).toBe(4)
  })
})

describe('reports about calls', () => {
  it('name each exchange by its template, without secrets', async () => {
    const calls: CmlCall[] = []
    const stub = await stubCml(request => (isLogin(request) ? undefined : STATS))
    const { cml } = client(call => calls.push(call))
    await cml.stats(stub.login, never())
    await cml.probe(stub.login, never())
    await expect(cml.stats({ ...stub.login, url: 'https://127.0.0.1:1' }, never())).rejects.toThrow('ECONNREFUSED')
    expect(calls).toEqual([
      { method: 'POST', path: '/auth_extended', status: 200, ms: 0 },
      { method: 'GET', path: '/system_stats', status: 200, ms: 0 },
      { method: 'GET', path: '/system_information', status: 200, ms: 0 },
      { method: 'POST', path: '/auth_extended', status: null, ms: 0 },
    ])
  })

  it('contain neither password nor tokens, even when CML repeats them', async () => {
    const stub = await stubCml(request => {
      if (isLogin(request)) return undefined
      if (request.path === '/licensing') {
        return { status: 200, json: { registration: { status: 'NOT_REGISTERED' }, authorization: { status: 'EVAL' } } }
      }
      return refused(400, `no: ${request.body} ${request.headers.authorization} ${PASSWORD}`)
    })
    const { cml } = client()
    const token = 'License/Token+of=ours'
    const request = { product: null, token, extra_nodes: null }
    const refusal: unknown = await cml.register(stub.login, request, never()).catch(error => error)
    expect(refusal).toMatchObject({ errorClass: 'invalid', message: expect.stringContaining('no: ') })
    const shown = `${refusal instanceof Error ? refusal.message + refusal.stack : ''} ${JSON.stringify(refusal)}`
    for (const secret of [token, PASSWORD, 'session-1']) expect(shown).not.toContain(secret)
    expect(refusal).not.toHaveProperty('cause', expect.anything())
  })
})
