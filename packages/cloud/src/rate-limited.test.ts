import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import type { Compute, PowerAct } from './compute.ts'
import { CloudError, type CloudErrorClass } from './errors.ts'
import { rateLimited } from './rate-limited.ts'

const REGION = 'us-east-1'
const never = new AbortController().signal
const refusal = (errorClass: CloudErrorClass) =>
  new CloudError(errorClass, { code: 'Code', action: 'Action', message: 'no' })
const ids = (count: number) => Array.from({ length: count }, (_, n) => `i-${n.toString(16)}`)

/** A cloud that notes what reaches it, and when. It answers at once unless it is held. */
function cloudThatNotes() {
  const clock = manualClock()
  const sent: { readonly act: string; readonly atMs: number; readonly count: number }[] = []
  const held: (() => void)[] = []
  const world = { isHeld: false, refuse: null as CloudErrorClass | null, listed: 0 }
  async function answer<Answer>(act: string, count: number, make: () => Answer): Promise<Answer> {
    sent.push({ act, atMs: clock.monotonic(), count })
    if (world.isHeld) await new Promise<void>(resolve => held.push(resolve))
    if (world.refuse) throw refusal(world.refuse)
    return make()
  }
  const compute: Compute = {
    list: () => answer('list', 0, () => Array.from({ length: world.listed }, () => ({}) as never)),
    describe: (_region, asked) => answer('describe', asked.length, () => ({ found: [], missing: asked })),
    newestImage: () => answer('images', 0, () => null),
    imageIds: () => answer('images', 0, () => []),
    launch: () => answer('launch', 1, () => ({}) as never),
    power: (_region, act, asked) => answer(act, asked.length, () => new Map(asked.map(id => [id, 'changing']))),
  }
  const limited = rateLimited(compute, { clock })
  const launch = (region = REGION, signal = never) => limited.launch(region, {} as never, signal)
  const power = (act: PowerAct, asked = ['i-1'], signal = never) => limited.power(REGION, act, asked, signal)
  const acts = () => sent.map(({ act }) => act)
  return { clock, sent, held, world, limited, launch, power, acts }
}

describe('the limits of a region', () => {
  it('lets four launches go at once and then 1.6 a second, which is four fifths of what EC2 takes', async () => {
    const { clock, sent, launch } = cloudThatNotes()
    const launches = Array.from({ length: 20 }, () => launch())
    await clock.advance(0)
    expect(sent).toHaveLength(4)
    await clock.advance(5_000)
    expect(sent).toHaveLength(12)
    await clock.advance(5_000)
    await Promise.all(launches)
    expect(sent.map(({ atMs }) => atMs).slice(3, 7)).toEqual([0, 625, 1250, 1875])
    expect(clock.timersLeft()).toBe(0)
  })

  it('has its own for each region and each action', async () => {
    const { clock, acts, launch, power } = cloudThatNotes()
    for (let n = 0; n < 5; n += 1) void launch()
    for (let n = 0; n < 5; n += 1) void launch('eu-west-1')
    void power('stop')
    await clock.advance(0)
    expect(acts().filter(act => act === 'launch')).toHaveLength(8)
    expect(acts()).toContain('stop')
  })

  it('counts the machines of a change too: no more than 800 starts until it gains 1.6 a second', async () => {
    const { clock, sent, power } = cloudThatNotes()
    const starts = Promise.allSettled(Array.from({ length: 20 }, () => power('start', ids(50))))
    await clock.advance(20_000)
    expect(sent.reduce((sum, { count }) => sum + count, 0)).toBe(800)
    const refused = (await starts).filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(4)
    void power('start', ids(50))
    await clock.advance(12_000)
    expect(sent).toHaveLength(17)
  })

  it('asks for two hundred machines in a look, however many are named', async () => {
    const { clock, sent, limited } = cloudThatNotes()
    const described = limited.describe(REGION, ids(450), never)
    await clock.advance(0)
    expect((await described).missing).toHaveLength(450)
    expect(sent.map(({ count }) => count)).toEqual([200, 200, 50])
  })

  it('charges a listing for all its pages', async () => {
    const { clock, sent, world, limited } = cloudThatNotes()
    world.listed = 10_000
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

describe('changes that compete', () => {
  it('go eight at a time, and terminate before stop before start before launch', async () => {
    const { clock, held, world, acts, launch, power } = cloudThatNotes()
    world.isHeld = true
    for (let n = 0; n < 8; n += 1) void power('stop', [`i-${n}`])
    void launch()
    void power('start')
    void power('force_stop')
    void power('terminate')
    await clock.advance(0)
    expect(acts()).toHaveLength(8)
    for (let n = 0; n < 4; n += 1) {
      held[n]?.()
      await clock.advance(0)
    }
    expect(acts().slice(8)).toEqual(['terminate', 'force_stop', 'start', 'launch'])
  })

  it('are not held up by one that has used up its own limits', async () => {
    const { clock, acts, launch, power } = cloudThatNotes()
    for (let n = 0; n < 6; n += 1) void power('start')
    void launch()
    await clock.advance(0)
    expect(acts()).toEqual(['start', 'start', 'start', 'start', 'launch'])
  })
})

describe('a caller in the queue', () => {
  it('leaves when it is aborted, and its room goes to the next', async () => {
    const { clock, sent, launch } = cloudThatNotes()
    for (let n = 0; n < 4; n += 1) void launch()
    const abort = new AbortController()
    const left = expect(launch(REGION, abort.signal)).rejects.toMatchObject({ code: 'AbortError' })
    const next = launch()
    abort.abort()
    await left
    await clock.advance(625)
    await next
    expect(sent).toHaveLength(5)
    await expect(launch(REGION, abort.signal)).rejects.toMatchObject({ errorClass: 'transient' })
    expect(clock.timersLeft()).toBe(0)
  })

  it('is sent away after twenty seconds, with nothing sent', async () => {
    const { clock, sent, launch, power } = cloudThatNotes()
    const launches = Array.from({ length: 40 }, () => launch().catch((error: CloudError) => error.errorClass))
    await clock.advance(20_000)
    const outcomes = await Promise.all(launches)
    expect(outcomes.filter(outcome => outcome === 'throttled')).toHaveLength(40 - sent.length)
    expect(sent).toHaveLength(4 + 32)
    expect(await power('stop')).toEqual(new Map([['i-1', 'changing']]))
  })
})

describe('a cloud that says throttled', () => {
  it('is left alone with that action by everybody, longer each time, until it takes one', async () => {
    const { clock, sent, world, power } = cloudThatNotes()
    const ignore = () => undefined
    world.refuse = 'throttled'
    for (let n = 0; n < 40; n += 1) void power('stop', [`i-${n}`]).catch(ignore)
    await clock.advance(0)
    const first = sent.length
    expect(first).toBe(8)
    for (const pauseMs of [1_000, 2_000, 4_000]) {
      const before = sent.length
      await clock.advance(pauseMs - 1)
      expect(sent).toHaveLength(before)
      await clock.advance(1)
      expect(sent.length).toBeGreaterThan(before)
    }
    world.refuse = null
    await clock.advance(8_000)
    world.refuse = 'throttled'
    await expect(power('stop')).rejects.toMatchObject({ errorClass: 'throttled' })
    world.refuse = null
    const again = power('stop')
    const before = sent.length
    await clock.advance(999)
    expect(sent).toHaveLength(before)
    await clock.advance(1)
    expect((await again).get('i-1')).toBe('changing')
  })

  it('waits no longer than thirty seconds, and keeps the other actions and regions going', async () => {
    const { clock, sent, world, acts, launch, power } = cloudThatNotes()
    world.refuse = 'throttled'
    for (let n = 0; n < 8; n += 1) {
      await expect(Promise.all([launch(), clock.advance(0)])).rejects.toMatchObject({ errorClass: 'throttled' })
      await clock.advance(31_000)
    }
    expect(sent).toHaveLength(8)
    await expect(launch()).rejects.toMatchObject({ errorClass: 'throttled' })
    world.refuse = null
    await Promise.all([power('terminate'), launch('eu-west-1')])
    expect(acts().slice(-2)).toEqual(['terminate', 'launch'])
  })
})
