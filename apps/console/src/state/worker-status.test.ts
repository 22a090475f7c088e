import { toMs } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import { costCauseOf, costOf } from '@lcm/domain/worker/cost'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'
import { anAttempt, aWorker } from '@lcm/testkit/builders'
import { describe, expect, it } from 'vitest'
import {
  bootStages,
  bootText,
  desiredStatusOf,
  differsFromDesired,
  historyOf,
  isSpending,
  otherConditions,
  spentUsd,
  statusNote,
  summaryOf,
} from './worker-status.ts'

const THEN = '2026-01-02T03:04:05.000Z'
const bootedTo = (reached: number) => withBoot([], reached, toMs('2026-01-02T03:04:05.000Z'))

describe('the desired status of a worker', () => {
  it('is the status after the drain while the worker drains', () => {
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const drain = { requested_at: THEN, by: 'ann', reason: '', then: 'STOPPED' as const, deadline: THEN }
    const draining = aWorker({ status: 'DRAINING', desired_status: 'RUNNING', drain })
    expect([desiredStatusOf(draining), differsFromDesired(draining)]).toEqual(['STOPPED', true])
    const running = aWorker({ status: 'RUNNING', desired_status: 'RUNNING', drain })
    expect([desiredStatusOf(running), differsFromDesired(running)]).toEqual(['RUNNING', false])
  })
})

describe('the boot', () => {
  it('has past, current and future stages', () => {
    const stages = bootStages(aWorker({ status: 'STARTING', conditions: bootedTo(2) }))
    expect(stages.map(stage => stage.state)).toEqual(['passed', 'passed', 'now', 'later', 'later', 'later'])
  })

  it('waits since the previous stage was passed', () => {
    const first = withBoot([], 0, 1_000)
    const conditions = withBoot(first, 1, 9_000)
    const [, now] = bootStages(aWorker({ status: 'STARTING', conditions }))
    expect(now).toMatchObject({ state: 'now', since: '1970-01-01T00:00:09.000Z' })
  })

  it('names the current stage, even before any condition is known', () => {
    expect(bootText(aWorker({ conditions: bootedTo(1) }))).toBe('waiting for the CML port to open')
    expect(bootText(aWorker({ conditions: [] }))).toBe('waiting for EC2 to report the instance as running')
    expect(bootText(aWorker({ conditions: bootedTo(6) }))).toBe('ready, verifying stability')
  })

  it('waits for nothing while stopping or after a failure', () => {
    for (const status of ['STOPPED', 'FAILED'] as const) {
      const stages = bootStages(aWorker({ status, conditions: bootedTo(1) }))
      expect(stages.map(stage => stage.state)).toEqual(['passed', 'later', 'later', 'later', 'later', 'later'])
    }
  })

  it('ignores other conditions', () => {
    const held = {
      type: 'HeldByIntent',
      status: true,
      reason: { code: 'text', message: '', params: {} },
      since: '2026-01-02T03:04:05.000Z',
    }
    expect(otherConditions(aWorker({ conditions: [...bootedTo(3), held] }))).toEqual([held])
  })
})

describe('a worker in one line', () => {
  const because = (at: string, text: string) => ({ from: null, to: 'STOPPED' as const, at, because: textReason(text) })

  it('is its newest reason', () => {
    const state_history = [because('2026-01-02T03:04:05.000Z', 'old'), because('2026-01-02T03:04:06.000Z', 'new')]
    const worker = aWorker({ status: 'STOPPED', state_history })
    expect(historyOf(worker).map(change => change.because.message)).toEqual(['new', 'old'])
    expect(statusNote(worker)).toBe('new')
  })

  it('is its newest reason even after a clock was set back or with equal times', () => {
    const times = ['2026-01-02T04:00:00.000Z', '2026-01-02T03:00:00.000Z', '2026-01-02T03:00:00.000Z']
    const state_history = times.map((at, index) => because(at, String(index)))
    expect(historyOf(aWorker({ state_history })).map(change => change.because.message)).toEqual(['2', '1', '0'])
  })

  it('is the refusal of the cloud while it waits for a machine', () => {
    expect(statusNote(aWorker({ launch: anAttempt({ error: 'no capacity' }) }))).toBe('no capacity')
  })

  it('is its service while it runs', () => {
    const cml = { ...aWorker().cml, version: '2.8.1' }
    expect(statusNote(aWorker({ status: 'RUNNING', service_status: 'AVAILABLE', cml }))).toBe('CML 2.8.1 available')
  })
})

describe('the fleet', () => {
  const since = '2026-01-02T03:00:00.000Z'
  const billed = (more: Partial<Worker>): Worker => {
    const worker = aWorker({ ec2_instance_id: 'i-1', cost_per_hour_usd: 4, ...more })
    return { ...worker, billing: { since, cause: costCauseOf(worker), closed_usd: 1 } }
  }
  const stopped = {
    type: CONDITION.stoppedAfterFailure,
    status: true,
    reason: { code: 'text', message: '', params: {} },
    since,
  }
  const fleet = [
    billed({ id: 'w-1', status: 'RUNNING' }),
    billed({ id: 'w-2', status: 'STARTING', cost_per_hour_usd: 0.5 }),
    billed({ id: 'w-3', status: 'STOPPED' }),
    billed({ id: 'w-4', status: 'TERMINATED' }),
    billed({ id: 'w-5', status: 'STOPPING' }),
    billed({ id: 'w-6', status: 'FAILED', conditions: [stopped] }),
  ]

  it('costs the sum of its running machines, like in the API', () => {
    expect(summaryOf(fleet)).toMatchObject({ present: 5, running: 1, usdPerHour: 4.5 })
    const perHour = fleet.map(worker => costOf(worker, since).per_hour_usd)
    expect(fleet.map(isSpending)).toEqual(perHour.map(usd => usd > 0))
  })

  it('grows every hour, even without updates', () => {
    expect(fleet.slice(0, 3).map(worker => spentUsd(worker, toMs(since) + 1_800_000))).toEqual([3, 1.25, 1])
  })
})
