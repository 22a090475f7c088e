import { describe, expect, it } from 'vitest'
import { type VirtualTime, virtualTime } from './virtual-time.ts'

/** Three loops that wait random times and race at every whole second. */
async function aRace(time: VirtualTime) {
  const loop = async (name: string) => {
    for (;;) {
      await time.clock.sleep(1_000 * (1 + time.random.int(3)))
      time.trace(`${name} ${time.random.int(100)}`)
    }
  }
  for (const name of ['a', 'b', 'c']) void loop(name)
  await time.runFor(60_000)
  return { hash: time.traceHash(), lines: time.recentTrace() }
}

describe('one seed', () => {
  it('gives one run', async () => {
    const [once, again] = [await aRace(virtualTime(7)), await aRace(virtualTime(7))]
    expect(again).toEqual(once)
    expect(once.lines.length).toBeGreaterThan(50)
  })

  it('gives another run than the next', async () => {
    const [one, next] = [await aRace(virtualTime(7)), await aRace(virtualTime(8))]
    expect(next.hash).not.toBe(one.hash)
  })

  it('decides the order of timers of the same instant', async () => {
    const orders = new Set<string>()
    for (let seed = 0; seed < 50; seed += 1) {
      const { clock, runFor } = virtualTime(seed)
      const order: string[] = []
      for (const name of ['a', 'b', 'c']) clock.after(10, () => order.push(name))
      await runFor(10)
      orders.add(order.join(''))
    }
    expect(orders.size).toBe(6)
  })

  it('keeps random values independent of the number of timers', async () => {
    const [few, many] = [virtualTime(7), virtualTime(7)]
    for (let count = 0; count < 10; count += 1) many.clock.after(1, () => undefined)
    expect(many.random.float()).toBe(few.random.float())
  })
})

describe('running', () => {
  it('advances only when nothing can run any more', async () => {
    const { clock, runFor } = virtualTime(1)
    const times: number[] = []
    clock.after(10, async () => {
      for (let count = 0; count < 100; count += 1) await Promise.resolve()
      times.push(clock.monotonic())
    })
    clock.after(20, () => times.push(clock.monotonic()))
    await runFor(1_000)
    expect([...times, clock.monotonic()]).toEqual([10, 20, 1_000])
  })

  it('stops where the condition holds', async () => {
    const { clock, runUntil } = virtualTime(1)
    let isDone = false
    clock.after(500, () => {
      isDone = true
    })
    expect(await runUntil(() => isDone, 10_000)).toBe(true)
    expect(clock.monotonic()).toBe(500)
  })

  it('returns false when the condition does not hold in time', async () => {
    const { clock, runUntil } = virtualTime(1)
    expect(await runUntil(() => false, 10_000)).toBe(false)
    expect(clock.monotonic()).toBe(10_000)
  })

  it('runs a day of timers immediately', async () => {
    const { clock, runFor } = virtualTime(1)
    let ticks = 0
    const tick = () => {
      ticks += 1
      clock.after(10_000, tick)
    }
    tick()
    await runFor(86_400_000)
    expect(ticks).toBe(8_641)
  })
})

describe('the trace', () => {
  it('keeps the newest thousand lines and hashes them all', async () => {
    const [one, other] = [virtualTime(1), virtualTime(1)]
    one.trace('only here')
    for (const time of [one, other]) for (let line = 0; line < 5_000; line += 1) time.trace(`line ${line}`)
    expect(one.recentTrace()).toHaveLength(1_000)
    expect(one.recentTrace()).toEqual(other.recentTrace())
    expect(one.traceHash()).not.toBe(other.traceHash())
  })

  it('contains the virtual time', async () => {
    const time = virtualTime(1)
    await time.runFor(250)
    time.trace('launched')
    expect(time.recentTrace()).toEqual(['250 launched'])
  })
})

describe('the behavior fingerprint', () => {
  it('ignores the order of effects within a millisecond, and nothing else', async () => {
    const noted = async (...lines: readonly (string | number)[]) => {
      const time = virtualTime(1)
      for (const line of lines) typeof line === 'number' ? await time.runFor(line) : time.behavior(line)
      return time.behaviorHash()
    }
    expect(await noted('a', 'b')).toBe(await noted('b', 'a'))
    expect(await noted('a', 1, 'b')).not.toBe(await noted('b', 1, 'a'))
    expect(await noted('a', 1, 'b')).not.toBe(await noted('a', 2, 'b'))
  })
})

describe('the history fingerprint', () => {
  const noted = async (...states: readonly (readonly [resource: string, state: string] | number)[]) => {
    const time = virtualTime(1)
    for (const each of states) typeof each === 'number' ? await time.runFor(each) : time.history(...each)
    return time.historyHash()
  }

  it('ignores time, the order between resources, and repeated states', async () => {
    const once = await noted(['w-1', 'PENDING'], ['w-2', 'PENDING'], 500, ['w-1', 'RUNNING'])
    expect(await noted(['w-2', 'PENDING'], ['w-1', 'PENDING'], ['w-1', 'PENDING'], 750, ['w-1', 'RUNNING'])).toBe(once)
  })

  it('changes with the order of states of one resource, and with a missing one', async () => {
    const forth = await noted(['w-1', 'RUNNING'], ['w-1', 'STOPPED'])
    expect(await noted(['w-1', 'STOPPED'], ['w-1', 'RUNNING'])).not.toBe(forth)
    expect(await noted(['w-1', 'RUNNING'])).not.toBe(forth)
    expect(await noted(['w-1', 'RUNNING'], ['w-2', 'STOPPED'])).not.toBe(forth)
  })
})
