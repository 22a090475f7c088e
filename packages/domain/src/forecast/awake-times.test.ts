import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../instant.ts'
import type { PlannedStep } from '../plan/plan.ts'
import { reason } from '../reason.ts'
import { awakeByPlan, awakeByTimeout, type MachineStart, withMinimum } from './awake-times.ts'

const MINUTE_MS = 60_000
const boot = { meanMs: 10 * MINUTE_MS, wakeMs: 20 * MINUTE_MS }
const firstBoot = { meanMs: 13 * MINUTE_MS, wakeMs: 25 * MINUTE_MS }
const STOPPED: MachineStart = {
  nowMs: 0,
  untilMs: 1000 * MINUTE_MS,
  servesMs: null,
  lastUseMs: 0,
  boot,
  firstBoot: null,
}

const step = (kind: PlannedStep['kind'], minute: number): PlannedStep => ({
  kind,
  at: toInstant(minute * MINUTE_MS),
  because: reason('not_given'),
  usd: 0,
  session_ids: [],
})
const use = (from: number, until: number) => ({ fromMs: from * MINUTE_MS, untilMs: until * MINUTE_MS })
/** In minutes. */
const timesOf = ({ awake }: ReturnType<typeof awakeByPlan>) =>
  awake.map(({ fromMs, servesMs, untilMs }) => [fromMs, servesMs, untilMs].map(ms => ms / MINUTE_MS))

describe('a machine that follows its plan', () => {
  it('is billed from its wake to its stop, and serves after a boot', () => {
    const steps = [step('wake', 40), step('stay', 100), step('stop', 200), step('wake', 400), step('stop', 500)]
    const played = awakeByPlan(steps, STOPPED)
    expect(timesOf(played)).toEqual([
      [40, 50, 200],
      [400, 410, 500],
    ])
    expect(played.marks.map(({ kind }) => kind)).toEqual(['wake', 'stop', 'wake', 'stop'])
  })

  it('boots longer at first', () => {
    expect(timesOf(awakeByPlan([step('buy', 40)], { ...STOPPED, firstBoot }))).toEqual([[40, 53, 1000]])
  })

  it('runs from now on if it runs, and on if no step stops it', () => {
    const runs = { ...STOPPED, servesMs: 0 }
    expect(timesOf(awakeByPlan([], runs))).toEqual([[0, 0, 1000]])
    expect(timesOf(awakeByPlan([step('stop', 30)], runs))).toEqual([[0, 0, 30]])
  })

  it('is not stopped while it boots, or is kept, and runs on when it is needed again before that', () => {
    const boots = { ...STOPPED, servesMs: 10 * MINUTE_MS }
    expect(timesOf(awakeByPlan([step('stop', 0)], boots))).toEqual([[0, 10, 10]])
    const steps = [step('stop', 20), step('wake', 50), step('stop', 200)]
    expect(timesOf(awakeByPlan(steps, boots, 40 * MINUTE_MS))).toEqual([
      [0, 10, 40],
      [50, 60, 200],
    ])
    const played = awakeByPlan(steps, boots, 60 * MINUTE_MS)
    expect(timesOf(played)).toEqual([[0, 10, 200]])
    expect(played.marks.map(({ kind }) => kind)).toEqual(['stop'])
  })

  it('carries out overdue steps at once, and none after the end', () => {
    expect(timesOf(awakeByPlan([step('wake', -5), step('stop', 2000)], STOPPED))).toEqual([[0, 10, 1000]])
    expect(awakeByPlan([step('wake', 1000)], STOPPED)).toEqual({ awake: [], marks: [] })
  })
})

describe('a machine that is stopped by a timeout', () => {
  it('stays for pauses that are shorter, with the time that it would be woken ahead', () => {
    const played = awakeByTimeout([use(100, 160), use(230, 300)], 60 * MINUTE_MS, STOPPED)
    expect(timesOf(played)).toEqual([[80, 90, 360]])
  })

  it('sleeps in longer ones', () => {
    const played = awakeByTimeout([use(100, 160), use(300, 330)], 60 * MINUTE_MS, STOPPED)
    expect(timesOf(played)).toEqual([
      [80, 90, 220],
      [280, 290, 390],
    ])
    expect(played.marks.map(({ kind }) => kind)).toEqual(['wake', 'stop', 'wake', 'stop'])
  })

  it('is bought once, and woken later', () => {
    const played = awakeByTimeout([use(100, 110), use(500, 510)], 0, { ...STOPPED, firstBoot })
    expect(played.marks.map(({ kind }) => kind)).toEqual(['buy', 'stop', 'wake', 'stop'])
    expect(timesOf(played)[0]).toEqual([75, 88, 110])
  })

  it('is stopped after the timeout if nothing uses it, and never without a timeout', () => {
    const runs = { ...STOPPED, servesMs: 0 }
    expect(timesOf(awakeByTimeout([], 60 * MINUTE_MS, runs))).toEqual([[0, 0, 60]])
    expect(timesOf(awakeByTimeout([], Number.POSITIVE_INFINITY, runs))).toEqual([[0, 0, 1000]])
  })

  it('counts the time since its last use, and none before it serves', () => {
    const runs = { ...STOPPED, servesMs: 0, lastUseMs: -40 * MINUTE_MS }
    expect(timesOf(awakeByTimeout([], 60 * MINUTE_MS, runs))).toEqual([[0, 0, 20]])
    expect(timesOf(awakeByTimeout([], 30 * MINUTE_MS, runs))).toEqual([[0, 0, 0]])
    const arrives = { ...STOPPED, servesMs: 8 * MINUTE_MS, lastUseMs: 8 * MINUTE_MS }
    expect(timesOf(awakeByTimeout([], 60 * MINUTE_MS, arrives))).toEqual([[0, 8, 68]])
  })

  it('is awake whenever it is used, and its times don’t overlap', () => {
    const aUse = fc
      .tuple(fc.nat({ max: 900 }), fc.integer({ min: 1, max: 90 }))
      .map(([at, length]) => use(at, at + length))
    fc.assert(
      fc.property(fc.array(aUse, { maxLength: 8 }), fc.integer({ min: 0, max: 90 }), (uses, timeout) => {
        const { awake } = awakeByTimeout(uses, timeout * MINUTE_MS, STOPPED)
        for (const { fromMs, untilMs } of uses) {
          const end = Math.min(untilMs, STOPPED.untilMs)
          expect(awake.some(time => time.fromMs <= fromMs && time.untilMs >= end)).toBe(true)
        }
        for (const [at, { fromMs }] of awake.entries())
          expect(fromMs).toBeGreaterThanOrEqual(awake[at - 1]?.untilMs ?? 0)
      }),
    )
  })
})

describe('the minimum of running machines', () => {
  const two = () => [
    awakeByPlan([step('wake', 0), step('stop', 100), step('wake', 300), step('stop', 400)], STOPPED),
    awakeByPlan([step('wake', 0), step('stop', 150)], STOPPED),
  ]

  it('changes nothing at 0', () => {
    expect(withMinimum(two(), 0, STOPPED.untilMs)).toEqual(two())
  })

  it('keeps the machine running that would be stopped as the last', () => {
    const [first, second] = withMinimum(two(), 1, STOPPED.untilMs)
    expect(first && timesOf(first)).toEqual([
      [0, 10, 100],
      [300, 310, 400],
    ])
    expect(second && timesOf(second)).toEqual([[0, 10, 1000]])
    expect(second?.marks.map(({ kind }) => kind)).toEqual(['wake'])
  })

  it('joins a machine that runs on with its next use', () => {
    const [first, second] = withMinimum(two(), 2, STOPPED.untilMs)
    expect(first && timesOf(first)).toEqual([[0, 10, 1000]])
    expect(second && timesOf(second)).toEqual([[0, 10, 1000]])
  })
})
