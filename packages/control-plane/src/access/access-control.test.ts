import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { revocableStream } from './access-control.ts'
import { browse, codeOf, cookieOf, HOST, ORIGIN, signIn, whoIs } from './testing/a-browser.ts'

let clock: ReturnType<typeof manualClock>
let caller: AbortController
beforeEach(() => {
  clock = manualClock()
  caller = new AbortController()
})

/** One part a second until the signal aborts. */
const ticking = async (signal: AbortSignal) => ticks(signal)

async function* ticks(signal: AbortSignal) {
  for (let second = 0; !signal.aborted; second++) {
    yield String(second)
    await clock.sleep(1_000, signal)
  }
}

function follow(stream: AsyncIterable<string>) {
  const parts: string[] = []
  const ended = (async () => {
    for await (const part of stream) parts.push(part)
    return 'ended'
  })()
  return { parts, ended }
}

describe('a stream', () => {
  it('continues while the caller has access, and ends within three seconds after a check would fail', async () => {
    let isAllowed = true
    let checks = 0
    const check = async () => {
      checks += 1
      if (!isAllowed) throw new Error('revoked')
    }
    const { parts, ended } = follow(await revocableStream(ticking, { clock, signal: caller.signal, check }))
    await clock.advance(10_500)
    expect([parts.length, checks]).toEqual([11, 3])
    isAllowed = false
    await clock.advance(2_500)
    expect(await ended).toBe('ended')
    await clock.advance(60_000)
    expect([parts.length, checks]).toEqual([12, 4])
  })

  it('ends when the caller disconnects, and is no longer rechecked', async () => {
    let checks = 0
    const check = async () => {
      checks += 1
    }
    const { ended } = follow(await revocableStream(ticking, { clock, signal: caller.signal, check }))
    await clock.advance(0)
    caller.abort()
    expect(await ended).toBe('ended')
    await clock.advance(60_000)
    expect(checks).toBe(0)
  })

  it('is not rechecked after the reader stops', async () => {
    let checks = 0
    const check = async () => {
      checks += 1
    }
    let signal = caller.signal
    const open = (given: AbortSignal) => {
      signal = given
      return ticking(given)
    }
    for await (const _ of await revocableStream(open, { clock, signal: caller.signal, check })) break
    await clock.advance(60_000)
    expect([checks, signal.aborted, caller.signal.aborted]).toEqual([0, true, false])
  })

  it('is refused like any other request when it can’t be opened', async () => {
    const open = async () => {
      throw new Error('no such position')
    }
    const opened = revocableStream(open, { clock, signal: caller.signal, check: async () => undefined })
    await expect(opened).rejects.toThrow('no such position')
  })
})

describe('the event stream', () => {
  async function events(plane: ReturnType<typeof aControlPlane>, headers: Record<string, string>, remote?: string) {
    const { signal } = new AbortController()
    const answer = await plane.dispatch({
      method: 'GET',
      url: '/api/v1/events',
      headers: { host: HOST, ...headers },
      body: null,
      ...(remote === undefined ? {} : { remote }),
      signal,
    })
    expect(answer.status).toBe(200)
    if (answer.body === null || typeof answer.body === 'string') throw new Error('no stream')
    const stream = follow(answer.body)
    let hasEnded = false
    stream.ended.then(() => {
      hasEnded = true
    })
    return { hasEnded: () => hasEnded, parts: stream.parts }
  }

  it('ends when its token is revoked', async () => {
    const plane = aControlPlane()
    const token = (await plane.send('POST', 'tokens', { json: { name: 'x', role: 'user' } })).json
    const stream = await events(plane, { authorization: `Bearer ${token.secret}` })
    await plane.clock.advance(60_000)
    expect([stream.hasEnded(), stream.parts.length]).toEqual([false, 5])
    await plane.send('DELETE', `tokens/${token.id}`)
    await plane.clock.advance(5_000)
    expect(stream.hasEnded()).toBe(true)
  })

  it('counts as one request for as long as it is open', async () => {
    const plane = aControlPlane({ limits: { requestsPerSecond: 0.001, burst: 1 } })
    const stream = await events(plane, { authorization: 'Bearer user' }, '10.0.0.1')
    await plane.clock.advance(60_000)
    expect(stream.hasEnded()).toBe(false)
  })

  it('ends when its token expires', async () => {
    const plane = aControlPlane()
    const expires_at = new Date(plane.clock.now() + 7_000).toISOString()
    const token = (await plane.send('POST', 'tokens', { json: { name: 'x', role: 'user', expires_at } })).json
    const stream = await events(plane, { authorization: `Bearer ${token.secret}` })
    await plane.clock.advance(8_999)
    expect(stream.hasEnded()).toBe(false)
    await plane.clock.advance(1)
    expect(stream.hasEnded()).toBe(true)
  })

  const sessionOf = async (plane: ReturnType<typeof aControlPlane>, headers: Record<string, string> = {}) => {
    const { url } = (await plane.send('POST', 'login-links', { headers })).json
    return cookieOf(await signIn(plane, { code: codeOf(url) }))
  }

  it.each(['token', 'code'])('of a browser that signed in with an expiring token ends with it: by %s', async by => {
    const plane = aControlPlane()
    const expires_at = new Date(plane.clock.now() + 60_000).toISOString()
    const { secret } = (await plane.send('POST', 'tokens', { json: { name: 'x', role: 'user', expires_at } })).json
    const headers = { authorization: `Bearer ${secret}` }
    const cookie = by === 'code' ? await sessionOf(plane, headers) : cookieOf(await signIn(plane, { token: secret }))
    const stream = await events(plane, { cookie })
    await plane.clock.advance(59_000)
    expect([stream.hasEnded(), await whoIs(plane, cookie)]).toEqual([false, expect.objectContaining({ name: 'x' })])
    await plane.clock.advance(5_000)
    expect([stream.hasEnded(), await whoIs(plane, cookie)]).toEqual([true, 401])
  })

  it('ends with the browser session', async () => {
    const plane = aControlPlane()
    const cookie = await sessionOf(plane)
    await plane.clock.advance(12 * 60 * 60_000 - 12_000)
    const stream = await events(plane, { cookie })
    await plane.clock.advance(11_000)
    expect(stream.hasEnded()).toBe(false)
    await plane.clock.advance(4_000)
    expect(stream.hasEnded()).toBe(true)
  })

  type Replica = ReturnType<typeof aControlPlane>
  type Revocation = (on: Replica, caller: { cookie: string; tokenId: string }) => Promise<unknown>
  const revocations: [string, Revocation][] = [
    ['a logout', (on, { cookie }) => browse(on, 'POST', '/logout', { cookie, ...ORIGIN })],
    ['the revocation of the token behind it', (on, { tokenId }) => on.send('DELETE', `tokens/${tokenId}`)],
  ]

  it.each(revocations)('of a browser ends on another replica less than five seconds after %s', async (_, revoke) => {
    const waits: number[] = []
    // Caches and checks of the other replica are at every point of their cycle.
    for (const offsetMs of [0, 300, 700, 1_100, 1_900, 2_300, 2_999]) {
      const one = aControlPlane()
      const other = aControlPlane({ store: one.store, clock: one.clock })
      const token = (await one.send('POST', 'tokens', { json: { name: 'x', role: 'user' } })).json
      const cookie = await sessionOf(one, { authorization: `Bearer ${token.secret}` })
      const stream = await events(other, { cookie })
      await one.clock.advance(30_000 + offsetMs)
      await browse(other, 'GET', '/api/v1/info', { cookie })
      await revoke(one, { cookie, tokenId: token.id })
      const startMs = one.clock.now()
      while (!stream.hasEnded()) await one.clock.advance(50)
      waits.push(one.clock.now() - startMs)
      expect((await browse(other, 'GET', '/api/v1/info', { cookie })).status).toBe(401)
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(4_000)
    expect(Math.max(...waits)).toBeGreaterThan(2_500)
  })

  it('of a browser ends when its person gets another role, and so does the session', async () => {
    const plane = aControlPlane()
    const token = (await plane.send('POST', 'tokens', { json: { name: 'x', role: 'operator' } })).json
    const cookie = await sessionOf(plane, { authorization: `Bearer ${token.secret}` })
    const stream = await events(plane, { cookie })
    await plane.clock.advance(30_000)
    await plane.edit('people', token.person_id, { role: 'user' })
    await plane.clock.advance(4_000)
    expect(stream.hasEnded()).toBe(true)
    expect(await whoIs(plane, cookie)).toBe(401)
  })

  it('ends when its person is merged into another, whose sessions it does not show', async () => {
    const plane = aControlPlane()
    const [from, into] = await Promise.all(
      ['from', 'into'].map(async name => (await plane.send('POST', 'tokens', { json: { name, role: 'user' } })).json),
    )
    const stream = await events(plane, { authorization: `Bearer ${from.secret}` })
    await plane.clock.advance(30_000)
    const json = { into: into.person_id }
    expect((await plane.send('POST', `people/${encodeURIComponent(from.person_id)}/merge`, { json })).status).toBe(200)
    await plane.clock.advance(4_000)
    expect(stream.hasEnded()).toBe(true)
  })
})
