import { ProblemError } from '@lcm/contract/problems'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { addressKey, type FailedAttempts, failedAttempts } from './failed-attempts.ts'
import { ACCESS_LIMITS } from './rate-limiter.ts'

let clock: ReturnType<typeof manualClock>
let attempts: FailedAttempts
beforeEach(() => {
  clock = manualClock()
  attempts = failedAttempts(clock, { ...ACCESS_LIMITS, failuresPerMinute: 3, addressesMax: 2 })
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

async function fail(remote: string, times: number) {
  for (let i = 0; i < times; i++) await codeOf(attempts.guard(remote, wrong))
}

describe('wrong secrets from one address', () => {
  it('are refused without a check after too many, until a minute has passed', async () => {
    await fail('a', 3)
    let checks = 0
    const check = async () => {
      checks += 1
    }
    await clock.advance(20_500)
    await expect(attempts.guard('a', check)).rejects.toMatchObject({ code: 'too_many_attempts', retryAfterSeconds: 40 })
    expect(checks).toBe(0)
    await clock.advance(39_500)
    expect(await codeOf(attempts.guard('a', right))).toBe('right')
  })

  it('do not count against other addresses', async () => {
    await fail('a', 3)
    expect(await codeOf(attempts.guard('b', right))).toBe('right')
  })

  it('are not offset by a valid one, and valid ones do not count', async () => {
    for (let i = 0; i < 10; i++) expect(await codeOf(attempts.guard('a', right))).toBe('right')
    await fail('a', 2)
    expect(await codeOf(attempts.guard('a', right))).toBe('right')
    await fail('a', 1)
    expect(await codeOf(attempts.guard('a', right))).toBe('too_many_attempts')
  })

  it('do not include errors of the store or the provider', async () => {
    const down = async () => {
      throw new ProblemError('identity_provider_unavailable', 'no')
    }
    for (let i = 0; i < 10; i++) await codeOf(attempts.guard('a', down))
    expect(await codeOf(attempts.guard('a', right))).toBe('right')
  })

  it('are counted also when they arrive at the same time', async () => {
    let checks = 0
    const check = async () => {
      checks += 1
      await clock.sleep(10)
      return wrong()
    }
    const answers = Array.from({ length: 50 }, () => codeOf(attempts.guard('a', check)))
    await clock.advance(100)
    const codes = await Promise.all(answers)
    expect(checks).toBe(3)
    expect(codes.filter(code => code === 'too_many_attempts')).toHaveLength(47)
  })

  it('delay valid ones that arrive with them, but lose none', async () => {
    const slow = async () => {
      await clock.sleep(10)
      return 'right'
    }
    const answers = Array.from({ length: 50 }, () => codeOf(attempts.guard('a', slow)))
    await clock.advance(1_000)
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['right']))
  })

  it('are tracked for a limited number of addresses', async () => {
    await fail('a', 3)
    await fail('b', 1)
    await fail('c', 1)
    expect(await codeOf(attempts.guard('a', right))).toBe('right')
  })

  it('leave no request waiting when the minute ends meanwhile', async () => {
    const two = failedAttempts(clock, { ...ACCESS_LIMITS, failuresPerMinute: 2 })
    const wrong2 = () => two.guard('a', wrong).catch(() => 'refused')
    await wrong2()
    await clock.advance(59_900)
    let finish = () => undefined as unknown
    const slow = two.guard('a', () => new Promise<string>(resolve => (finish = () => resolve('slow'))))
    const waiting = [two.guard('a', async () => 'second'), two.guard('a', async () => 'third')]
    await clock.advance(200)
    finish()
    expect(await Promise.all([slow, ...waiting])).toEqual(['slow', 'second', 'third'])
  })

  it('do not count within a process', async () => {
    for (let i = 0; i < 10; i++) expect(await codeOf(attempts.guard(undefined, wrong))).toBe('unauthenticated')
  })
})

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['::1', '0:0:0:0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8::9', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['unix', 'unix'],
])('%s counts as %s', (remote, key) => {
  expect(addressKey(remote)).toBe(key)
})

describe('through the API', () => {
  const remote = '127.0.0.1'
  const ask = (plane: ReturnType<typeof aControlPlane>, token: string) =>
    plane.send('GET', 'info', { remote, headers: { authorization: `Bearer ${token}` } })

  it('an authenticated caller is not locked out by a stranger at the same address', async () => {
    const plane = aControlPlane()
    expect((await ask(plane, 'operator')).status).toBe(200)
    for (let i = 0; i < 20; i++) expect((await ask(plane, 'wrong')).status).toBe(401)
    expect((await ask(plane, 'operator')).status).toBe(200)
    expect((await ask(plane, 'wrong')).status).toBe(429)
  })

  it('a token that was never used before has to wait as well', async () => {
    const plane = aControlPlane()
    for (let i = 0; i < 20; i++) expect((await ask(plane, 'wrong')).status).toBe(401)
    expect(await ask(plane, 'admin')).toMatchObject({
      status: 429,
      headers: { 'retry-after': '60' },
      json: { code: 'too_many_attempts' },
    })
    await plane.clock.advance(60_000)
    expect((await ask(plane, 'admin')).status).toBe(200)
  })

  it('login links are limited in the same way', async () => {
    const plane = aControlPlane()
    const open = () => plane.send('GET', '/login?code=guess', { remote })
    for (let i = 0; i < 20; i++) expect((await open()).status).toBe(303)
    expect((await open()).status).toBe(429)
  })

  it('a signed-out page may retry without limit', async () => {
    const plane = aControlPlane()
    for (let i = 0; i < 30; i++) {
      const headers = i % 2 === 0 ? {} : { cookie: 'lcm_session=of-another-installation' }
      const { signal } = new AbortController()
      const answer = await plane.dispatch({ method: 'GET', url: '/api/v1/info', headers, body: null, remote, signal })
      expect(answer.status).toBe(401)
    }
    expect((await ask(plane, 'admin')).status).toBe(200)
  })
})
