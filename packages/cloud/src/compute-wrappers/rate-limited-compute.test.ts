import { manualClock } from '@lcm/testkit/manual-clock'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Compute, PowerAction } from '../compute.ts'
import { CloudError, type CloudErrorClass } from '../errors.ts'
import { batchedCompute } from './batched-compute.ts'
import { type Bucket, fullBucket, msUntil, rateLimitedCompute, refill, spend } from './rate-limited-compute.ts'

const REGION = 'us-east-1'
const never = new AbortController().signal
const refusal = (errorClass: CloudErrorClass) =>
  new CloudError(errorClass, { code: 'Code', action: 'Action', message: 'no' })
const ids = (count: number) => Array.from({ length: count }, (_, n) => `i-${n.toString(16)}`)

/** A cloud that records calls and their times. It responds at once unless it is held. */
function cloudThatNotes() {
  const clock = manualClock()
  const sent: { readonly act: string; readonly atMs: number; readonly count: number }[] = []
  const held: (() => void)[] = []
  const cloud = { isHeld: false, refuse: null as CloudErrorClass | null, listed: 0 }
  async function answer<Answer>(act: string, count: number, make: () => Answer): Promise<Answer> {
    sent.push({ act, atMs: clock.monotonic(), count })
    if (cloud.isHeld) await new Promise<void>(resolve => held.push(resolve))
    if (cloud.refuse) throw refusal(cloud.refuse)
    return make()
  }
  const compute: Compute = {
    list: () => answer('list', 0, () => Array.from({ length: cloud.listed }, () => ({}) as never)),
    describe: (_region, asked) => answer('describe', asked.length, () => ({ found: [], missing: asked })),
    newestImage: () => answer('images', 0, () => null),
    imageIds: () => answer('images', 0, () => []),
    launch: () => answer('launch', 1, () => ({}) as never),
    power: (_region, act, asked) => answer(act, asked.length, () => new Map(asked.map(id => [id, 'changing']))),
    tag: () => answer('tag', 1, () => undefined),
  }
  const limited = rateLimitedCompute(compute, { clock })
  let launches = 0
  const launch = (region = REGION, ticket = `t-${launches++}`) =>
    limited.launch(region, { client_token: ticket } as never, never)
  const power = (act: PowerAction, asked = ['i-1']) => limited.power(REGION, act, asked, never)
  /** Retries after the given delay, as a controller does. Returns the number of attempts. */
  async function persist(call: () => Promise<unknown>): Promise<number> {
    for (let asked = 1; ; asked += 1) {
      const waitMs = await call().then(() => null, retryAfter)
      if (waitMs === null) return asked
      await clock.sleep(waitMs)
    }
  }
  const persistentLaunches = (count: number) =>
    Array.from({ length: count }, (_, n) => persist(() => launch(REGION, `p-${n}`)))
  const acts = () => sent.map(({ act }) => act)
  return { clock, sent, held, cloud, limited, launch, power, persist, persistentLaunches, acts }
}

function retryAfter(error: unknown): number {
  if (error instanceof CloudError && error.retryAfterMs !== null) return error.retryAfterMs
  throw error
}

describe('the limits of a region', () => {
  it("allow four launches at once and then 1.6 a second, which is four fifths of EC2's limit", async () => {
    const { clock, sent, persistentLaunches } = cloudThatNotes()
    const launches = persistentLaunches(20)
    await clock.advance(0)
    expect(sent).toHaveLength(4)
    await clock.advance(5_000)
    expect(sent).toHaveLength(12)
    await clock.advance(5_000)
    await Promise.all(launches)
    expect(sent.map(({ atMs }) => atMs).slice(3, 7)).toEqual([0, 625, 1250, 1875])
    expect(clock.timersLeft()).toBe(0)
  })

  it('return at once when to retry, and keep the place: a hundred launches try twice at most', async () => {
    const { clock, sent, launch, persistentLaunches } = cloudThatNotes()
    const launches = persistentLaunches(100)
    await clock.advance(0)
    expect(await launch().catch(retryAfter)).toBe(97 * 625)
    await clock.advance(60_000)
    expect(Math.max(...(await Promise.all(launches)))).toBe(2)
    expect(sent).toHaveLength(100)
  })

  it('give the place of an abandoned ticket to the others', async () => {
    const { clock, sent, launch, persist } = cloudThatNotes()
    for (let n = 0; n < 4; n += 1) await launch()
    for (let n = 0; n < 8; n += 1) await expect(launch()).rejects.toMatchObject({ errorClass: 'throttled' })
    await clock.advance(11_000)
    const late = persist(() => launch(REGION, 'late'))
    await clock.advance(0)
    expect(await late).toBe(1)
    expect(sent).toHaveLength(5)
  })

  it('are separate for each region and each action', async () => {
    const { acts, launch, power } = cloudThatNotes()
    const ignore = () => undefined
    for (let n = 0; n < 5; n += 1) await launch().catch(ignore)
    for (let n = 0; n < 5; n += 1) await launch('eu-west-1').catch(ignore)
    await power('stop')
    expect(acts().filter(act => act === 'launch')).toHaveLength(8)
    expect(acts()).toContain('stop')
  })

  it('apply to tags too: 80 at once and then 8 a second, and a stop does not wait for them', async () => {
    const { acts, limited, power } = cloudThatNotes()
    const answers = ids(100).map(id =>
      limited.tag(REGION, id, { Name: 'x' }, never).catch((error: CloudError) => error),
    )
    const refused = (await Promise.all(answers)).filter(answer => answer instanceof CloudError)
    expect(refused.map(({ errorClass }) => errorClass)).toEqual(Array.from({ length: 20 }, () => 'throttled'))
    expect(refused.map(({ retryAfterMs }) => retryAfterMs)[0]).toBe(125)
    await power('stop')
    expect(acts().filter(act => act === 'tag')).toHaveLength(80)
    expect(acts().at(-1)).toBe('stop')
  })

  it('count the machines of a change too: no more than 800 starts until it gains 1.6 a second', async () => {
    const { clock, sent, power, persist } = cloudThatNotes()
    const start = () => persist(() => power('start', ids(50)))
    const starts = (async () => {
      for (let n = 0; n < 17; n += 1) await start()
    })()
    await clock.advance(30_000)
    expect(sent.reduce((sum, { count }) => sum + count, 0)).toBe(800)
    await clock.advance(12_000)
    await starts
    expect(sent).toHaveLength(17)
  })

  it('start machines together that wait for the same request', async () => {
    const { clock, sent, limited, persist } = cloudThatNotes()
    const machines = batchedCompute(limited)
    const starts = ids(60).map(async (id, n) => {
      await clock.sleep(50 * n)
      return persist(() => machines.powerOne(REGION, 'start', id, never))
    })
    await clock.advance(5_000)
    expect(sent.reduce((sum, { count }) => sum + count, 0)).toBe(60)
    expect(sent.length).toBeLessThanOrEqual(4 + 8)
    await Promise.all(starts)
  })

  it('describes two hundred machines per request, however many are named', async () => {
    const { clock, sent, limited } = cloudThatNotes()
    const described = limited.describe(REGION, ids(450), never)
    await clock.advance(0)
    expect((await described).missing).toHaveLength(450)
    expect(sent.map(({ count }) => count)).toEqual([200, 200, 50])
  })

  it('charges a listing for all its pages', async () => {
    const { clock, sent, cloud, limited } = cloudThatNotes()
    cloud.listed = 10_000
    await limited.list(REGION, { client_token: 't' }, never)
    await limited.list(REGION, { client_token: 't' }, never)
    const third = limited.list(REGION, { client_token: 't' }, never)
    await clock.advance(0)
    expect(sent).toHaveLength(2)
    await clock.advance(1_400)
    await third
    expect(sent).toHaveLength(3)
  })
})

describe('slow calls', () => {
  it('leave other actions alone: a stop runs though eight launches are in progress', async () => {
    const { clock, cloud, held, acts, launch, power, persistentLaunches } = cloudThatNotes()
    cloud.isHeld = true
    const launches = persistentLaunches(12)
    await clock.advance(60_000)
    expect(acts()).toEqual(Array(8).fill('launch'))
    expect(await launch().catch(retryAfter)).toBeGreaterThan(0)
    void power('stop')
    await clock.advance(0)
    expect(acts().at(-1)).toBe('stop')
    cloud.isHeld = false
    for (const release of held) release()
    await clock.advance(5_000)
    await Promise.all(launches)
    expect(acts().filter(act => act === 'launch')).toHaveLength(12)
  })
})

describe('a read', () => {
  it('waits its time, stops when aborted, and is rejected when the wait would be too long', async () => {
    const { clock, sent, limited } = cloudThatNotes()
    const abort = new AbortController()
    const list = (signal = never) => limited.list(REGION, { client_token: 't' }, signal)
    for (let n = 0; n < 80; n += 1) await list()
    const left = expect(list(abort.signal)).rejects.toMatchObject({ code: 'AbortError' })
    const next = list()
    abort.abort()
    await left
    await clock.advance(125)
    await next
    expect(sent).toHaveLength(82 - 1)
    const many = Array.from({ length: 400 }, () => list().catch((error: CloudError) => error.code))
    await clock.advance(21_000)
    const refused = (await Promise.all(many)).filter(code => code === 'RateLimited').length
    expect(refused).toBeGreaterThan(50)
    expect(clock.timersLeft()).toBe(0)
  })
})

describe('rejected or aborted reads', () => {
  it('take no place from later ones', async () => {
    const { clock, sent, limited } = cloudThatNotes()
    const abort = new AbortController()
    const list = (signal = never) => limited.list(REGION, { client_token: 't' }, signal)
    const left = Array.from({ length: 200 }, () => list(abort.signal).catch(() => null))
    const refused = Array.from({ length: 2_000 }, () => list().catch(() => null))
    abort.abort()
    await Promise.all(left)
    await clock.advance(20_000)
    await Promise.all(refused)
    await clock.advance(1_000)
    const before = sent.length
    await list()
    expect(sent).toHaveLength(before + 1)
  })
})

describe('a cloud that throttles', () => {
  it('pauses that action for all callers, longer each time, until a call succeeds', async () => {
    const { clock, sent, cloud, launch } = cloudThatNotes()
    const asked = () => launch(REGION, 't').catch((error: CloudError) => error.retryAfterMs)
    cloud.refuse = 'throttled'
    for (const pauseMs of [1_000, 2_000, 4_000]) {
      const before = sent.length
      expect(await asked()).toBeNull()
      expect(await asked()).toBe(pauseMs)
      await clock.advance(pauseMs - 1)
      expect(await asked()).toBe(1)
      expect(sent).toHaveLength(before + 1)
      await clock.advance(1)
    }
    cloud.refuse = null
    expect(await asked()).toEqual({})
    cloud.refuse = 'throttled'
    expect(await asked()).toBeNull()
    expect(await asked()).toBe(1_000)
  })

  it('waits no longer than thirty seconds, and keeps the other actions and regions going', async () => {
    const { clock, sent, cloud, acts, launch, power } = cloudThatNotes()
    cloud.refuse = 'throttled'
    for (let n = 0; n < 8; n += 1) {
      await expect(launch()).rejects.toMatchObject({ errorClass: 'throttled', retryAfterMs: null })
      await clock.advance(31_000)
    }
    expect(sent).toHaveLength(8)
    cloud.refuse = null
    await Promise.all([power('terminate'), launch('eu-west-1')])
    expect(acts().slice(-2)).toEqual(['terminate', 'launch'])
  })
})

const limits = fc.record({
  capacity: fc.integer({ min: 1, max: 1000 }),
  perSecond: fc.double({ min: 0.1, max: 100, noNaN: true }),
})
const steps = fc.array(fc.record({ waitMs: fc.nat(5000), cost: fc.integer({ min: 1, max: 10 }) }), { maxLength: 50 })

describe('a token bucket', () => {
  it('never spends more than its initial tokens and those gained since', () => {
    fc.assert(
      fc.property(limits, steps, (limit, asked) => {
        let bucket = fullBucket(limit, 0)
        let nowMs = 0
        let passed = 0
        for (const { waitMs, cost } of asked) {
          nowMs += waitMs
          if (msUntil(limit, bucket, { cost, nowMs }) > 0 || cost > limit.capacity) continue
          bucket = spend(limit, bucket, { cost, nowMs })
          passed += cost
          expect(passed).toBeLessThanOrEqual(limit.capacity + (nowMs / 1000) * limit.perSecond + 1e-3)
        }
      }),
    )
  })

  it('has enough after the wait that it named, and not two milliseconds before', () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 10 }), fc.integer({ min: 0, max: 2000 }), (limit, asked, taken) => {
        const cost = Math.min(asked, limit.capacity)
        const bucket = spend(limit, fullBucket(limit, 0), { cost: taken, nowMs: 0 })
        const waitMs = msUntil(limit, bucket, { cost, nowMs: 0 })
        expect(msUntil(limit, bucket, { cost, nowMs: waitMs })).toBe(0)
        if (waitMs > 2) expect(msUntil(limit, bucket, { cost, nowMs: waitMs - 2 })).toBeGreaterThan(0)
      }),
    )
  })

  it('holds no more than its capacity, and gains nothing when time goes back', () => {
    fc.assert(
      fc.property(limits, fc.nat(1000), fc.nat(1_000_000), (limit, cost, ms) => {
        const bucket: Bucket = spend(limit, fullBucket(limit, 1_000_000), { cost, nowMs: 1_000_000 })
        expect(refill(limit, bucket, 1_000_000 + ms).tokens).toBeLessThanOrEqual(limit.capacity)
        expect(refill(limit, bucket, 1_000_000 - ms)).toEqual(bucket)
      }),
    )
  })

  it('repays an overdraft', () => {
    const limit = { capacity: 10, perSecond: 2 }
    const bucket = spend(limit, fullBucket(limit, 0), { cost: 50, nowMs: 0 })
    expect(msUntil(limit, bucket, { cost: 1, nowMs: 0 })).toBe(20_500)
  })
})
