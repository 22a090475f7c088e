import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import type { Plan, PlannedMachine, PlannedStep } from './plan.ts'
import { BoundedPlan, boundedPlan, isSamePlan, PLAN_LIMITS, StoredPlan } from './stored-plan.ts'

const NOW = '2026-01-02T08:00:00.000Z'
const inMinutes = (minutes: number) => toInstant(toMs(NOW) + minutes * 60_000)
const step = (minutes: number, more: Partial<PlannedStep> = {}): PlannedStep => ({
  kind: 'wake',
  at: inMinutes(minutes),
  because: reason('no_capacity_for_sessions', { sessions: 1 }),
  usd: 1,
  session_ids: [],
  ...more,
})
const machine = (n: number, more: Partial<PlannedMachine> = {}): PlannedMachine => ({
  key: `w-${n}`,
  worker_id: `w-${n}`,
  template_name: 'metal',
  session_ids: [`ls-${n}`],
  steps: [step(n)],
  ...more,
})
const planOf = (machines: PlannedMachine[], more: Partial<Plan> = {}): Plan => ({
  at: NOW,
  until: inMinutes(2880),
  machines,
  unplaced: [],
  usd: 1,
  ...more,
})
const machines = (count: number, more: Partial<PlannedMachine> = {}) =>
  Array.from({ length: count }, (_, n) => machine(n, more))
const bounded = (...all: PlannedMachine[]) => boundedPlan(planOf(all))

describe('a stored plan', () => {
  it('has the whole of a small plan, and lacks nothing', () => {
    const plan = boundedPlan(planOf(machines(3)))
    expect(plan).toEqual({
      ...planOf(machines(3)),
      left_out: { machines: 0, steps: 0, session_ids: 0, unplaced: 0 },
    })
    expect(BoundedPlan.parse(plan)).toEqual(plan)
    const stored = { ...plan, id: 'fleet', version: 1, created_at: NOW, updated_at: NOW }
    expect(StoredPlan.parse(stored)).toEqual({ ...stored, fence: {} })
  })

  it('keeps the steps and machines that come first, and counts the others', () => {
    const many = machines(PLAN_LIMITS.machines + 3).toReversed()
    const plan = boundedPlan(planOf(many))
    expect(plan.left_out).toMatchObject({ machines: 3, steps: 0 })
    expect(plan.machines.map(({ key }) => key)).not.toContain(`w-${PLAN_LIMITS.machines}`)
    expect(plan.machines[0]?.key).toBe('w-0')
    const busy = machine(0, { steps: Array.from({ length: PLAN_LIMITS.steps + 5 }, (_, n) => step(n)) })
    const kept = boundedPlan(planOf([busy, machine(1)]))
    expect(kept.left_out.steps).toBe(6)
    expect(kept.machines[0]?.steps).toHaveLength(PLAN_LIMITS.steps - 1)
    expect(kept.machines[1]?.steps).toEqual([step(1)])
  })

  it('is bounded in sessions too', () => {
    const ids = Array.from({ length: 5_000 }, (_, n) => `ls-${n}`)
    const unplaced = ids.map(session_id => ({ session_id, because: reason('not_given') }))
    const plan = boundedPlan(
      planOf([machine(0, { session_ids: ids, steps: [step(0, { session_ids: ids })] })], { unplaced }),
    )
    expect(plan.machines[0]?.session_ids).toHaveLength(5_000)
    expect(plan.machines[0]?.steps[0]?.session_ids).toHaveLength(1_000)
    expect(plan.unplaced).toHaveLength(PLAN_LIMITS.unplaced)
    expect(plan.left_out).toMatchObject({ session_ids: 4_000, unplaced: 4_800 })
  })

  it('fits into a request, whatever the plan', () => {
    const because = reason('no_template_enabled')
    const long = { ...because, message: 'x'.repeat(400) }
    const ids = Array.from({ length: 100 }, (_, n) => `ls-${String(n).padStart(13, '0')}`)
    const steps = Array.from({ length: 10 }, (_, n) => step(n, { because: long, session_ids: ids }))
    const unplaced = ids.map(session_id => ({ session_id, because: long }))
    const plan = boundedPlan(planOf(machines(500, { session_ids: ids, steps }), { unplaced }))
    expect(JSON.stringify(plan).length).toBeLessThan(1024 * 1024)
  })
})

describe('a plan is the same', () => {
  it.each<[string, PlannedMachine, PlannedMachine]>([
    ['when only its price differs', machine(5), machine(5, { steps: [step(5, { usd: 2 })] })],
    ['when a time differs by seconds', machine(5), machine(5, { steps: [step(5.1)] })],
    ['when a step is due since another time', machine(5, { steps: [step(-1)] }), machine(5, { steps: [step(-9)] })],
    [
      'when a number in a reason differs',
      machine(5),
      machine(5, { steps: [step(5, { because: reason('no_capacity_for_sessions', { sessions: 2 }) })] }),
    ],
    [
      'when it reaches further',
      machine(5, { steps: [step(5, { because: reason('plan_stop_unused', { until: inMinutes(2880) }) })] }),
      machine(5, { steps: [step(5, { because: reason('plan_stop_unused', { until: inMinutes(2880) }) })] }),
    ],
  ])('%s', (_, a, b) => {
    expect(isSamePlan(bounded(a), bounded(b))).toBe(true)
  })

  it.each<[string, Partial<PlannedMachine>]>([
    ['the worker', { worker_id: null }],
    ['a session', { session_ids: ['ls-9'] }],
    ['a kind of step', { steps: [step(5, { kind: 'stop' })] }],
    ['a time', { steps: [step(7)] }],
    ['a reason', { steps: [step(5, { because: reason('not_given') })] }],
    ['the sessions of a step', { steps: [step(5, { session_ids: ['ls-5'] })] }],
  ])('but not when %s differs', (_, more) => {
    expect(isSamePlan(bounded(machine(5)), bounded(machine(5, more)))).toBe(false)
  })

  it('but not when a session lost its machine', () => {
    const unplaced = [{ session_id: 'ls-1', because: reason('not_given') }]
    expect(isSamePlan(bounded(), boundedPlan(planOf([], { unplaced })))).toBe(false)
  })
})
