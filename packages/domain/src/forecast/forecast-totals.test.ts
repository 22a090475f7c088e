import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadOverTime, peakOf, totalsOf } from './forecast-totals.ts'
import type { AwakeTime, MachineUse } from './machine-use.ts'

const HOUR_MS = 3_600_000
const WITHIN = { fromMs: 0, untilMs: 24 * HOUR_MS }

const hours = (from: number, until: number) => ({ fromMs: from * HOUR_MS, untilMs: until * HOUR_MS })
const awake = (from: number, serves: number, until: number): AwakeTime => ({
  ...hours(from, until),
  servesMs: serves * HOUR_MS,
})
const machine = (more: Partial<MachineUse>): MachineUse => ({
  key: 'w-1',
  name: 'metal-1',
  worker_id: 'w-1',
  template_name: 'metal',
  usd_per_hour: 4,
  disk_usd_per_hour: 0.1,
  sessions: [],
  awake: [],
  marks: [],
  exists: WITHIN,
  ...more,
})

describe('what machines cost', () => {
  it('is by cause: booting, with sessions, idle, and disks', () => {
    const sessions = [
      { session_id: 'a', ...hours(9, 11) },
      { session_id: 'b', ...hours(10, 12) },
    ]
    const used = machine({ sessions, awake: [awake(8, 8.25, 13)], marks: [{ kind: 'wake', atMs: 8 * HOUR_MS }] })
    const totals = totalsOf([used, machine({ exists: hours(12, 24) })], WITHIN)
    expect(totals).toEqual({
      usd: expect.closeTo(20 + 3.6),
      by_cause: { boot: 1, session: 12, idle: 7, disk: expect.closeTo(3.6) },
      hours: 5,
      boots: 1,
      machines: 1,
    })
  })

  it('counts a boot that a lab waits for as boot', () => {
    const late = machine({ sessions: [{ session_id: 'a', ...hours(9, 11) }], awake: [awake(9, 9.5, 11)] })
    expect(totalsOf([late], WITHIN).by_cause).toMatchObject({ boot: 2, session: 6, idle: 0 })
  })

  it('counts only what is within the time', () => {
    const totals = totalsOf([machine({ awake: [awake(-2, -1, 30)] })], WITHIN)
    expect(totals).toMatchObject({ hours: 24, by_cause: { idle: 96, boot: 0 } })
  })

  it('is the sum of the times in which machines are awake', () => {
    const aTime = fc
      .tuple(fc.nat({ max: 20 }), fc.nat({ max: 3 }), fc.integer({ min: 1, max: 6 }))
      .map(([from, boot, length]) => awake(from, from + boot, from + length))
    const aSpan = fc
      .tuple(fc.nat({ max: 24 }), fc.integer({ min: 1, max: 4 }))
      .map(([from, length]) => ({ session_id: 's', ...hours(from, from + length) }))
    fc.assert(
      fc.property(fc.array(fc.tuple(aTime, fc.array(aSpan)), { maxLength: 6 }), drawn => {
        const machines = drawn.map(([time, sessions]) => machine({ awake: [time], sessions }))
        const { hours: billed, by_cause } = totalsOf(machines, WITHIN)
        const sum = drawn.reduce((all, [{ fromMs, untilMs }]) => all + Math.min(untilMs, WITHIN.untilMs) - fromMs, 0)
        expect(billed).toBeCloseTo(sum / HOUR_MS)
        expect(by_cause.boot + by_cause.session + by_cause.idle).toBeCloseTo(billed * 4)
        for (const usd of Object.values(by_cause)) expect(usd).toBeGreaterThanOrEqual(-1e-9)
      }),
    )
  })
})

describe('the load over time', () => {
  it('changes with each session and machine, and has a first highest point', () => {
    const points = loadOverTime(
      [hours(9, 11), hours(10, 12), hours(20, 30)],
      [machine({ awake: [awake(8, 9, 12)] })],
      WITHIN,
    )
    expect(points.map(({ atMs, ...rest }) => ({ at: atMs / HOUR_MS, ...rest }))).toEqual([
      { at: 0, sessions: 0, machines: 0 },
      { at: 8, sessions: 0, machines: 1 },
      { at: 9, sessions: 1, machines: 1 },
      { at: 10, sessions: 2, machines: 1 },
      { at: 11, sessions: 1, machines: 1 },
      { at: 12, sessions: 0, machines: 0 },
      { at: 20, sessions: 1, machines: 0 },
    ])
    expect(peakOf(points, 'sessions')).toMatchObject({ atMs: 10 * HOUR_MS, sessions: 2 })
    expect(peakOf(points, 'machines')).toMatchObject({ atMs: 8 * HOUR_MS })
    expect(peakOf(loadOverTime([], [], WITHIN), 'sessions')).toBeNull()
  })
})
