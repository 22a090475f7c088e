import { aLicenseObservation, anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { reason } from '../../reason.ts'
import { decideWorker } from '../decide.ts'
import { type Observation, WORKER_POLICY } from '../observation.ts'
import type { Condition, Worker } from '../worker.ts'

const ENTERED = toMs(aWorker().entered_status_at)
const now = ENTERED + 10 * 60_000
const silentSince = ENTERED + 60_000
const decide = (worker: Worker, more: Partial<Observation> = {}) =>
  decideWorker(worker, anObservation(more), WORKER_POLICY, now)

const STALE: Condition = {
  type: 'MetricsStale',
  status: true,
  reason: reason('metrics_stale'),
  since: toInstant(silentSince),
}
const OTHER: Condition = {
  type: 'Overdue',
  status: true,
  reason: reason('termination_overdue', { minutes: 20 }),
  since: toInstant(ENTERED),
}

describe('a worker that was not measured for too long', () => {
  it('gets a condition with the time of the last sample, next to its others', () => {
    expect(decide(onMachine({ conditions: [OTHER] }), { metricsSilentSince: silentSince }).action).toEqual({
      kind: 'write',
      changes: { conditions: [OTHER, STALE] },
      afterMs: 0,
    })
  })

  it('gets the condition once: later checks still run', () => {
    const reported = onMachine({ conditions: [STALE] })
    expect(decide(reported, { metricsSilentSince: silentSince }).action.kind).toBe('nothing')
    expect(decide(reported, { metricsSilentSince: silentSince, isSurveyDue: true }).action.kind).toBe('survey')
  })

  it('loses the condition when it is measured again, or does not run', () => {
    expect(decide(onMachine({ conditions: [OTHER, STALE] }))).toMatchObject({
      because: { code: 'metrics_restored' },
      action: { changes: { conditions: [OTHER] } },
    })
    const stopped = onMachine({ conditions: [OTHER, STALE], desired_status: 'STOPPED' })
    expect(decide(stopped, { metricsSilentSince: silentSince }).action).toMatchObject({
      changes: { status: 'STOPPING', conditions: [OTHER] },
    })
    expect(
      decide(onMachine({ conditions: [STALE] }), {
        ec2: anEc2Observation({ state: 'stopped', public_ip: null }),
      }).action,
    ).toMatchObject({ changes: { status: 'STOPPED', conditions: expect.not.arrayContaining([STALE]) } })
  })

  it('comes after drift, and before the license', () => {
    const moved = anEc2Observation({ public_ip: '127.64.0.9' })
    expect(decide(onMachine(), { ec2: moved, metricsSilentSince: silentSince }).because.code).toBe('ec2_facts_changed')
    expect(
      decide(onMachine(), { license: aLicenseObservation(), metricsSilentSince: silentSince }).action,
    ).toMatchObject({
      changes: { conditions: [STALE] },
    })
  })
})
