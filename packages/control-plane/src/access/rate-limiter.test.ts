import type { Actor } from '@lcm/domain/actor'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { ACCESS_LIMITS, boundedMap, rateLimiter } from './rate-limiter.ts'

const LIMITS = { ...ACCESS_LIMITS, requestsPerSecond: 2, burst: 4, controllerFactor: 10 }
const ONE: Actor = { id: 'one', name: 'one', role: 'user', service: null }
const OTHER: Actor = { ...ONE, id: 'other' }
const CONTROLLER: Actor = { id: 'wc', name: 'wc', role: 'controller', service: 'worker-controller' }

let clock: ReturnType<typeof manualClock>
beforeEach(() => {
  clock = manualClock()
})

/** Number of requests out of a thousand that pass at once. */
function taken(rate: ReturnType<typeof rateLimiter>, actor: Actor): number {
  for (let count = 0; count < 1000; count++) {
    try {
      rate.take(actor)
    } catch {
      return count
    }
  }
  return 1000
}

describe('the rate of one caller', () => {
  it('allows the burst first and the configured rate after it', async () => {
    const rate = rateLimiter(clock, LIMITS)
    expect(taken(rate, ONE)).toBe(4)
    await clock.advance(499)
    expect(taken(rate, ONE)).toBe(0)
    await clock.advance(1)
    expect(taken(rate, ONE)).toBe(1)
    await clock.advance(60_000)
    expect(taken(rate, ONE)).toBe(4)
  })

  it('is separate for each caller, and higher for controllers', () => {
    const rate = rateLimiter(clock, LIMITS)
    taken(rate, ONE)
    expect(taken(rate, OTHER)).toBe(4)
    expect(taken(rate, CONTROLLER)).toBe(40)
  })

  it('comes with the time to wait', () => {
    const rate = rateLimiter(clock, { ...LIMITS, requestsPerSecond: 0.1, burst: 1 })
    taken(rate, ONE)
    expect(() => rate.take(ONE)).toThrow(expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 10 }))
  })

  it('counts a body as one request per KiB', async () => {
    const rate = rateLimiter(clock, { ...LIMITS, requestsPerSecond: 1, burst: 10 })
    rate.take(ONE, 1024)
    rate.take(ONE, 4 * 1024)
    expect(taken(rate, ONE)).toBe(5)
  })

  it('accepts a body that is larger than the burst, and lets its sender wait', async () => {
    const rate = rateLimiter(clock, { ...LIMITS, requestsPerSecond: 10, burst: 20 })
    rate.take(ONE, 100 * 1024)
    expect(() => rate.take(ONE)).toThrow(expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 9 }))
    await clock.advance(8_100)
    expect(taken(rate, ONE)).toBe(1)
    expect(taken(rate, OTHER)).toBe(20)
  })

  it('can be unlimited', () => {
    const limits = { ...LIMITS, requestsPerSecond: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY }
    expect(taken(rateLimiter(clock, limits), ONE)).toBe(1000)
  })

  it('is kept for a limited number of callers', () => {
    const rate = rateLimiter(clock, { ...LIMITS, actorsMax: 1 })
    taken(rate, ONE)
    taken(rate, OTHER)
    expect(taken(rate, ONE)).toBe(4)
  })
})

it('returns 429 and the time to wait to callers from outside', async () => {
  const plane = aControlPlane({ limits: { requestsPerSecond: 1, burst: 2 } })
  const ask = (remote?: string) => plane.send('GET', 'info', remote === undefined ? {} : { remote })
  expect([(await ask('10.0.0.1')).status, (await ask('10.0.0.2')).status]).toEqual([200, 200])
  expect(await ask('10.0.0.3')).toMatchObject({
    status: 429,
    headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
    json: { code: 'rate_limited' },
  })
  expect((await ask()).status).toBe(200)
  await plane.clock.advance(1_000)
  expect((await ask('10.0.0.1')).status).toBe(200)
})

it('charges the bytes of a body to its caller', async () => {
  const plane = aControlPlane({ limits: { requestsPerSecond: 1, burst: 20 } })
  const request = { remote: '10.0.0.1', json: { definition: 'none', reservation_id: 'x'.repeat(40_000) } }
  const book = () => plane.send('POST', 'lablet-sessions', request)
  expect([(await book()).status, (await book()).status]).toEqual([400, 429])
})

it('drops the oldest caller when it is full', () => {
  const map = boundedMap<number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([3, undefined, 4])
  map.delete('a')
  expect([map.get('a'), map.get('c')]).toEqual([undefined, 4])
  map.clear()
  expect(map.get('c')).toBeUndefined()
})
