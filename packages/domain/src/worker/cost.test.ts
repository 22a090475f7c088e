import { aWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { heldFrom } from '../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import { withBoot } from './boot-stages.ts'
import { type CostInterval, closeCost, costCauseOf, costOf, intervalOf, isPriceUnknown, perHourOf } from './cost.ts'
import { CONDITION, WORKER_STATUSES, type Worker, type WorkerStatus } from './worker.ts'

const START = toMs('2026-01-01T00:00:00.000Z')
const at = (hours: number) => toInstant(START + hours * 3_600_000)
const RESERVATION = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(at(0)) }
const machine = { ec2_instance_id: 'i-1' }
const RETURNING = {
  type: CONDITION.returningLicense,
  status: true,
  reason: reason('license_return_needs_boot'),
  since: at(0),
}
const idlePause = { ...aWorker().pause, reason: reason('worker_idle'), by: 'idle' }

describe('the cause of costs', () => {
  it.each<[WorkerStatus, string | null]>([
    ['PENDING', null],
    ['PROVISIONING', 'stopped'],
    ['STARTING', 'boot'],
    ['RUNNING', 'idle'],
    ['DRAINING', 'drain'],
    ['STOPPING', 'stopped'],
    ['STOPPED', 'stopped'],
    ['TERMINATING', 'drain'],
    ['TERMINATED', null],
    ['FAILED', 'failed'],
    ['UNKNOWN', 'failed'],
  ])('%s with a machine: %s', (status, cause) => {
    expect(costCauseOf(aWorker({ status, ...machine }))).toBe(cause)
  })

  it.each<WorkerStatus>(['PROVISIONING', 'FAILED', 'UNKNOWN', 'DRAINING', 'TERMINATING'])(
    '%s without a machine: nothing',
    status => {
      expect(costCauseOf(aWorker({ status }))).toBeNull()
    },
  )

  it.each<[WorkerStatus, string]>([
    ['FAILED', CONDITION.stoppedAfterFailure],
    ['STARTING', CONDITION.blocked],
  ])('%s with a machine that is stopped in EC2: no costs', (status, type) => {
    const conditions = [{ type, status: true, reason: reason('stopped_after_failure'), since: at(0) }]
    expect(costCauseOf(aWorker({ status, ...machine, conditions }))).toBe('stopped')
  })

  it('STOPPING counts until EC2 has begun to stop it', () => {
    const conditions = (reached: number) => withBoot([], reached, START)
    expect(costCauseOf(aWorker({ status: 'STOPPING', ...machine, conditions: conditions(6) }))).toBe('drain')
    expect(costCauseOf(aWorker({ status: 'STOPPING', ...machine, conditions: conditions(0) }))).toBe('stopped')
  })

  it.each<[WorkerStatus, string]>([
    ['STOPPED', 'stopped'],
    ['RUNNING', 'drain'],
  ])('TERMINATING after %s: %s, also while AWS refuses the termination', (status, cause) => {
    const { worker } = live({ status: 'PENDING' }, [
      [0, { status }],
      [1, { status: 'TERMINATING' }],
      [2, { conditions: [{ ...RETURNING, type: CONDITION.terminateBlocked }] }],
    ])
    expect(worker.billing.cause).toBe(cause)
  })

  it('TERMINATING counts from the start of a stopped machine that returns its license', () => {
    const changes: [number, Partial<Worker>][] = [
      [0, { status: 'STOPPED' }],
      [1, { status: 'TERMINATING' }],
      [2, { conditions: [RETURNING] }],
      [3, { conditions: [] }],
      [4, { status: 'TERMINATED' }],
    ]
    const causesOf = (approval: Worker['approval']) =>
      live({ status: 'PENDING', approval }, changes).intervals.map(({ cause }) => cause)
    expect(causesOf({ ...aWorker().approval, state: 'approved' })).toEqual(['stopped', 'stopped', 'drain'])
    // It is not started before its approval.
    expect(causesOf({ ...aWorker().approval, state: 'required' })).toEqual(['stopped', 'stopped'])
  })

  it('is a session while the worker has one', () => {
    expect(costCauseOf(aWorker({ status: 'RUNNING', reservations: { 'ls-1': RESERVATION } }))).toBe('session')
  })
})

/** Applies changes to a worker, each at its hour, and collects the intervals that end. */
function live(first: Partial<Worker>, changes: readonly [number, Partial<Worker>][]) {
  const intervals: CostInterval[] = []
  let worker = aWorker({ cost_per_hour_usd: 4, ...machine, ...first })
  for (const [hours, change] of changes) {
    const after = { ...worker, ...change }
    const closed = closeCost(worker, after, at(hours))
    if (closed?.interval) intervals.push(closed.interval)
    worker = closed === null ? after : { ...after, billing: closed.billing }
  }
  return { worker, intervals }
}

describe('an interval', () => {
  it('ends with each change of the cause, and is priced by the hour', () => {
    const { worker, intervals } = live({}, [
      [0, { status: 'STARTING' }],
      [0.5, { status: 'RUNNING' }],
      [1, { reservations: { 'ls-1': RESERVATION } }],
      [3, { reservations: {} }],
      [4, { status: 'STOPPING' }],
      [4.25, { status: 'STOPPED' }],
    ])
    expect(intervals.map(({ status, cause, usd, saved_usd }) => [status, cause, usd, saved_usd])).toEqual([
      ['STARTING', 'boot', 2, 0],
      ['RUNNING', 'idle', 2, 0],
      ['RUNNING', 'session', 8, 0],
      ['RUNNING', 'idle', 4, 0],
      ['STOPPING', 'stopped', 0, 0],
    ])
    expect(intervals[2]).toMatchObject({ from: at(1), to: at(3) })
    expect(worker.billing).toEqual({ since: at(4.25), cause: 'stopped', closed_usd: 16 })
  })

  it('ends with a change of status, also with the same cause', () => {
    const { intervals } = live({ status: 'PENDING' }, [
      [0, { status: 'DRAINING' }],
      [1, { status: 'TERMINATING' }],
      [3, { status: 'TERMINATED' }],
    ])
    expect(intervals.map(({ status, usd }) => [status, usd])).toEqual([
      ['DRAINING', 4],
      ['TERMINATING', 8],
    ])
  })

  it('continues through changes that do not affect costs', () => {
    const running = aWorker({ status: 'RUNNING', ...machine, billing: { since: at(0), cause: 'idle', closed_usd: 1 } })
    expect(closeCost(running, { ...running, name: 'other' }, at(5))).toBeNull()
    const pending = aWorker({ status: 'PENDING' })
    expect(closeCost(pending, { ...pending, status: 'PROVISIONING' }, at(5))).toBeNull()
  })

  it('never has negative costs, whatever the clocks of several processes', () => {
    const running = aWorker({ status: 'RUNNING', ...machine, billing: { since: at(2), cause: 'idle', closed_usd: 3 } })
    const closed = closeCost(running, { ...running, status: 'STOPPING' }, at(1))
    expect(closed?.interval?.usd).toBe(0)
    expect(closed?.billing.closed_usd).toBe(3)
  })
})

describe('a disk', () => {
  const disk = { gb: 200, usd_per_hour: 0.02 }

  it('costs the same while the machine runs, stops and is stopped, until it is gone', () => {
    const { worker, intervals } = live({ disk, pause: idlePause }, [
      [0, { status: 'PROVISIONING' }],
      [1, { status: 'STARTING' }],
      [2, { status: 'RUNNING' }],
      [3, { status: 'STOPPING' }],
      [4, { status: 'STOPPED' }],
      [14, { status: 'TERMINATING' }],
      [15, { status: 'TERMINATED' }],
    ])
    expect(intervals.map(({ disk_usd = 0 }) => disk_usd)).toEqual([0.02, 0.02, 0.02, 0.02, 0.2, 0.02])
    expect(intervals.map(({ usd }) => usd)).toEqual([0, 4, 4, 0, 0, 0])
    expect(worker.billing).toEqual({ since: null, cause: null, closed_usd: expect.closeTo(8 + 15 * 0.02, 9) })
  })

  it('is not part of what a pause saves', () => {
    const { intervals } = live(
      { disk, pause: idlePause, status: 'STOPPED', billing: { since: at(0), cause: 'stopped', closed_usd: 0 } },
      [[10, { status: 'STARTING' }]],
    )
    expect(intervals).toMatchObject([{ saved_usd: 40, disk_usd: 0.2, usd: 0 }])
  })

  it('is part of the hourly costs', () => {
    const billing = { since: at(0), cause: 'idle', closed_usd: 0 } as const
    const running = aWorker({ status: 'RUNNING', ...machine, cost_per_hour_usd: 4, disk, billing })
    expect(costOf(running, at(1))).toEqual({ spent_usd: 4.02, per_hour_usd: 4.02, cause: 'idle' })
    const stopped = { ...running, status: 'STOPPED', billing: { ...billing, cause: 'stopped' } } as const
    expect(costOf(stopped, at(1))).toEqual({ spent_usd: 0.02, per_hour_usd: 0.02, cause: 'stopped' })
    expect(perHourOf(aWorker({ disk }))).toBe(0)
  })
})

describe('a price', () => {
  it('that changes closes the interval, so that earlier hours keep their price', () => {
    const { worker, intervals } = live({ status: 'STARTING' }, [
      [0, { status: 'RUNNING' }],
      [1, { cost_per_hour_usd: 6 }],
      [1, { name: 'renamed' }],
      [3, { status: 'STOPPING' }],
    ])
    expect(intervals.map(({ usd }) => usd)).toEqual([4, 12])
    expect(worker.billing.closed_usd).toBe(16)
  })

  it('that is unknown is never 0', () => {
    const { worker } = live({ status: 'STARTING', cost_per_hour_usd: null }, [[0, { status: 'RUNNING' }]])
    expect(costOf(worker, at(5))).toEqual({ spent_usd: 0, per_hour_usd: null, cause: 'idle' })
    expect(isPriceUnknown(worker)).toBe(true)
    const stopped = { ...worker, billing: { ...worker.billing, cause: 'stopped' } } as const
    expect([perHourOf(stopped), isPriceUnknown(stopped)]).toEqual([0, true])
    expect(isPriceUnknown(aWorker({ cost_per_hour_usd: null }))).toBe(false)
  })
})

describe('savings', () => {
  const stopped = { status: 'STOPPED', billing: { since: at(0), cause: 'stopped', closed_usd: 0 } } as const

  it('are the costs of the hours for which a policy stopped it', () => {
    const { intervals } = live({ ...stopped, pause: idlePause }, [[10, { status: 'STARTING' }]])
    expect(intervals).toMatchObject([{ cause: 'stopped', usd: 0, saved_usd: 40 }])
  })

  it('are zero when a user stopped it', () => {
    const { intervals } = live(stopped, [[10, { status: 'STARTING' }]])
    expect(intervals).toMatchObject([{ cause: 'stopped', usd: 0, saved_usd: 0 }])
  })

  it('count until a user requests another status, not until the machine changes', () => {
    const { intervals, worker } = live({ ...stopped, pause: idlePause }, [
      [10, { pause: { ...idlePause, reason: null, by: null }, desired_status: 'RUNNING' }],
      [11, { status: 'STARTING' }],
    ])
    expect(intervals.map(({ usd, saved_usd }) => [usd, saved_usd])).toEqual([
      [0, 40],
      [0, 0],
    ])
    expect(worker.billing.closed_usd).toBe(0)
  })

  it('do not begin before the machine has stopped', () => {
    const running = aWorker({ status: 'RUNNING', ...machine, billing: { since: at(0), cause: 'idle', closed_usd: 0 } })
    expect(closeCost(running, { ...running, pause: idlePause }, at(1))).toBeNull()
  })

  it('are known while the worker is stopped', () => {
    expect(intervalOf(aWorker({ ...stopped, pause: idlePause }), at(2))).toMatchObject({ usd: 0, saved_usd: 8 })
    expect(intervalOf(aWorker(), at(2))).toBeNull()
  })
})

describe('the costs of a worker', () => {
  it('are the closed and the open intervals, and the current hourly price', () => {
    const billing = { since: at(1), cause: 'idle' as const, closed_usd: 10 }
    expect(costOf(aWorker({ status: 'RUNNING', billing }), at(3))).toEqual({
      spent_usd: 18,
      per_hour_usd: 4,
      cause: 'idle',
    })
    expect(costOf(aWorker({ status: 'STOPPED', billing: { ...billing, cause: 'stopped' } }), at(3))).toEqual({
      spent_usd: 10,
      per_hour_usd: 0,
      cause: 'stopped',
    })
    expect(costOf(aWorker(), at(3))).toEqual({ spent_usd: 0, per_hour_usd: 0, cause: null })
  })

  it('add up for any history: every closed interval, and none twice', () => {
    const step = fc.record({
      minutes: fc.integer({ min: 0, max: 600 }),
      status: fc.constantFrom(...WORKER_STATUSES),
      busy: fc.boolean(),
      paused: fc.boolean(),
    })
    const property = fc.property(fc.array(step, { maxLength: 20 }), steps => {
      let minutes = 0
      const changes = steps.map(({ minutes: later, status, busy, paused }): [number, Partial<Worker>] => {
        minutes += later
        const pause = paused ? idlePause : aWorker().pause
        return [minutes / 60, { status, reservations: busy ? { 'ls-1': RESERVATION } : {}, pause }]
      })
      const { worker, intervals } = live({}, changes)
      const closed = intervals.reduce((sum, { usd }) => sum + usd, 0)
      expect(worker.billing.closed_usd).toBeCloseTo(closed, 6)
      const ends = intervals.map(({ from, to }) => [toMs(from), toMs(to)])
      expect(ends.flat()).toEqual([...ends.flat()].sort((a, b) => a - b))
      for (const { usd, saved_usd } of intervals) expect(usd * saved_usd).toBe(0)
    })
    fc.assert(property, { numRuns: 2_000, seed: 5 })
  })
})
