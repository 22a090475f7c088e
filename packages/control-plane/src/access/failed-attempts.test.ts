import { ProblemError } from '@lcm/contract/problems'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FailedAttempts, failedAttempts } from './failed-attempts.ts'
import { ACCESS_LIMITS } from './rate-limiter.ts'
import { signIn } from './testing/a-browser.ts'

let clock: ReturnType<typeof manualClock>
let attempts: FailedAttempts
let refusals: string[]
beforeEach(() => {
  clock = manualClock()
  refusals = []
  const limits = { ...ACCESS_LIMITS, failuresPerMinute: 3, addressesMax: 2 }
  attempts = failedAttempts({ clock, limits, onRefused: (_, refusal) => refusals.push(refusal) })
})

const wrong = async () => {
  throw new ProblemError('unauthenticated', 'no')
}
const right = async () => 'right'
const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    answer => answer,
    error => error.code,
  )
const from = (remote?: string) => ({
  method: 'GET',
  url: '/',
  headers: {},
  body: null,
  signal: new AbortController().signal,
  ...(remote === undefined ? {} : { remote }),
})

let secrets = 0
const another = () => {
  secrets += 1
  return `secret-${secrets}`
}
/** Tries a secret that was never sent before. */
const attempt = (remote: string | undefined, lookup: () => Promise<unknown>, secret = another()) =>
  codeOf(attempts.check(from(remote), secret, 'wrong_token', lookup))

async function fail(remote: string, times: number) {
  for (let i = 0; i < times; i++) await attempt(remote, wrong)
}

describe('a right secret', () => {
  it('works after any number of wrong ones from the same address', async () => {
    await fail('a', 50)
    expect(await attempt('a', right)).toBe('right')
  })

  it('works while wrong ones of its own prefix come from everywhere', async () => {
    for (let i = 0; i < 50; i++) await attempt(`host-${i}`, wrong, `lcm_prefix-1${i}`)
    expect(await attempt('host-99', wrong, 'lcm_prefix-1x')).toBe('too_many_attempts')
    expect(await attempt('host-99', wrong, 'lcm_prefix-2x')).toBe('unauthenticated')
    expect(await attempt('host-99', right, 'lcm_prefix-1y')).toBe('right')
  })

  it('does not wait for the lookups of a stranger once it was right before', async () => {
    expect(await attempt('a', right, 'mine')).toBe('right')
    const slow = () => clock.sleep(1_000).then(wrong)
    const flood = Array.from({ length: 50 }, () => attempt('a', slow))
    expect(await attempt('a', right, 'mine')).toBe('right')
    await clock.advance(60_000)
    await Promise.all(flood)
  })

  it('offsets no wrong one', async () => {
    await fail('a', 2)
    expect(await attempt('a', right)).toBe('right')
    expect(await attempt('a', wrong)).toBe('unauthenticated')
    expect(await attempt('a', wrong)).toBe('too_many_attempts')
  })
})

describe('wrong secrets', () => {
  it('are refused as too many after the limit, until a minute has passed', async () => {
    await fail('a', 3)
    await clock.advance(20_500)
    await expect(attempts.check(from('a'), another(), 'wrong_token', wrong)).rejects.toMatchObject({
      code: 'too_many_attempts',
      retryAfterSeconds: 40,
    })
    await clock.advance(39_500)
    expect(await attempt('a', wrong)).toBe('unauthenticated')
  })

  it('are not looked up again while their address is over the limit', async () => {
    let lookups = 0
    const counted = () => {
      lookups += 1
      return wrong()
    }
    await fail('a', 3)
    for (let i = 0; i < 10; i++) expect(await attempt('a', counted, 'the same')).toBe('too_many_attempts')
    expect(lookups).toBe(1)
    await clock.advance(10_000)
    await attempt('a', counted, 'the same')
    expect(lookups).toBe(2)
  })

  it('are looked up four at a time per address', async () => {
    let running = 0
    let most = 0
    const slow = async () => {
      running += 1
      most = Math.max(most, running)
      await clock.sleep(10)
      running -= 1
      return wrong()
    }
    const flood = Array.from({ length: 20 }, () => attempt('a', slow))
    await clock.advance(0)
    expect(running).toBe(4)
    const other = attempt('b', slow)
    await clock.advance(0)
    expect(running).toBe(5)
    await clock.advance(1_000)
    await Promise.all([...flood, other])
    expect([running, most]).toEqual([0, 5])
  })

  it('do not count against other addresses', async () => {
    await fail('a', 4)
    expect(await attempt('b', wrong)).toBe('unauthenticated')
  })

  it('do not include errors of the store or the provider', async () => {
    const down = async () => {
      throw new ProblemError('identity_provider_unavailable', 'no')
    }
    for (let i = 0; i < 10; i++) await attempt('a', down)
    expect(await attempt('a', wrong)).toBe('unauthenticated')
  })

  it('are tracked for a limited number of addresses', async () => {
    await fail('a', 4)
    await fail('b', 1)
    await fail('c', 1)
    expect(await attempt('a', wrong)).toBe('unauthenticated')
  })

  it('are reported one by one, with the lock-out', async () => {
    await fail('a', 5)
    expect(refusals).toEqual([...Array(3).fill('wrong_token'), ...Array(2).fill('too_many_attempts')])
  })

  it('do not count within a process', async () => {
    for (let i = 0; i < 10; i++) expect(await attempt(undefined, wrong)).toBe('unauthenticated')
    expect(refusals).toEqual([])
  })
})

describe('through the API', () => {
  const remote = '127.0.0.1'
  const ask = (plane: ReturnType<typeof aControlPlane>, token: string) =>
    plane.send('GET', 'info', { remote, headers: { authorization: `Bearer ${token}` } })

  it('a token that was never used before works after a flood', async () => {
    const plane = aControlPlane()
    for (let i = 0; i < 20; i++) expect((await ask(plane, 'wrong')).status).toBe(401)
    expect(await ask(plane, 'wrong')).toMatchObject({
      status: 429,
      headers: { 'retry-after': '60' },
      json: { code: 'too_many_attempts' },
    })
    expect((await ask(plane, 'admin')).status).toBe(200)
  })

  it('login links are limited in the same way', async () => {
    const plane = aControlPlane()
    const there = {
      dispatch: (request: Parameters<typeof plane.dispatch>[0]) => plane.dispatch({ ...request, remote }),
    }
    for (let i = 0; i < 20; i++) expect((await signIn(there, { code: `guess-${i}` })).status).toBe(401)
    expect((await signIn(there, { code: 'guess' })).status).toBe(429)
    const code = await plane.access.createLoginCode({ id: 'admin', name: 'admin', role: 'admin', service: null })
    expect((await signIn(there, { code })).status).toBe(204)
  })

  it('a signed-out page may retry without limit', async () => {
    const plane = aControlPlane()
    for (let i = 0; i < 30; i++) {
      const headers = i % 2 === 0 ? {} : { cookie: `lcm_session=${'x'.repeat(43)}` }
      const { signal } = new AbortController()
      const answer = await plane.dispatch({ method: 'GET', url: '/api/v1/info', headers, body: null, remote, signal })
      expect(answer.status).toBe(401)
    }
    expect((await ask(plane, 'wrong')).status).toBe(401)
  })
})
