import { seededRandom } from '@lcm/testkit/seeded-random'
import { describe, expect, it } from 'vitest'
import { type HostCapacity, type LaunchNeed, planLaunches, type Taken } from './launch-plan.ts'

const need = (key: string, over: Partial<LaunchNeed> = {}): LaunchNeed => ({
  key,
  ram_mib: 100,
  points: 100,
  not_before_ms: 0,
  boot_ms: 1000,
  ...over,
})
const HOST: HostCapacity = { ram_mib: 1000, points: 200 }
const startsOf = (queue: readonly LaunchNeed[], taken: readonly Taken[] = [], host = HOST) =>
  Object.fromEntries([...planLaunches(queue, taken, host, 0)].map(([key, { started_ms }]) => [key, started_ms]))

describe('a launch plan', () => {
  it('boots as many nodes at once as there are processors, the others after them', () => {
    expect(startsOf([need('a'), need('b'), need('c')])).toEqual({ a: 0, b: 0, c: 1000 })
  })

  it("starts a small node before one that doesn't fit yet", () => {
    const queue = [need('a', { points: 150 }), need('b', { points: 100 }), need('c', { points: 50 })]
    expect(startsOf(queue)).toEqual({ a: 0, b: 1000, c: 0 })
  })

  it('boots a node alone that needs more processors than the host has', () => {
    expect(startsOf([need('a'), need('giant', { points: 900 }), need('b')])).toEqual({ a: 0, b: 0, giant: 1000 })
  })

  it("never starts a node without memory, and doesn't delay the others for it", () => {
    expect(startsOf([need('giant', { ram_mib: 1001 }), need('a')])).toEqual({ a: 0 })
  })

  it('starts a node when a stopping one releases its memory', () => {
    const stopping = { ram_mib: 950, ram_until_ms: 5000, points: 0, points_until_ms: 0 }
    expect(startsOf([need('a')], [stopping])).toEqual({ a: 5000 })
  })

  it('starts a node without requirements even on a full host', () => {
    const full = { ram_mib: 5000, ram_until_ms: Infinity, points: 500, points_until_ms: Infinity }
    expect(startsOf([need('switch', { ram_mib: 0, points: 0 })], [full])).toEqual({ switch: 0 })
  })

  it('keeps a node in the queue until its earliest start', () => {
    expect(planLaunches([need('a', { not_before_ms: 300 })], [], HOST, 0).get('a')).toEqual({
      started_ms: 300,
      booted_ms: 1300,
    })
  })
})

describe('any launch plan', () => {
  it.each(Array.from({ length: 50 }, (_, seed) => seed))('never overfills the host (seed %s)', seed => {
    const random = seededRandom(seed)
    const queue = Array.from({ length: 30 }, (_, n) =>
      need(`n${n}`, {
        ram_mib: random.int(400),
        points: random.int(120),
        boot_ms: 1 + random.int(900),
      }),
    )
    const plan = planLaunches(queue, [], HOST, 0)
    const launched = queue.flatMap(one => {
      const launch = plan.get(one.key)
      return launch ? [{ ...one, ...launch }] : []
    })
    expect(launched.reduce((sum, one) => sum + one.ram_mib, 0)).toBeLessThanOrEqual(HOST.ram_mib)
    for (const { started_ms: at } of launched) {
      const booting = launched.filter(one => one.started_ms <= at && one.booted_ms > at)
      expect(booting.reduce((sum, one) => sum + one.points, 0)).toBeLessThanOrEqual(HOST.points)
    }
  })
})
