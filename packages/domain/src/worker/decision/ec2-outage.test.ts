import { anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { reason, textReason } from '../../reason.ts'
import { decideWorker } from '../decide.ts'
import { type Observation, WORKER_POLICY } from '../observation.ts'
import type { Condition, Worker } from '../worker.ts'
import { OUTAGE_MS } from './ec2-outage.ts'

const BEGAN = toMs(aWorker().entered_status_at) + 60_000
const BECAUSE = textReason('EC2 in us-east-1 has not answered')
const OTHER: Condition = {
  type: 'Overdue',
  status: true,
  reason: reason('termination_overdue', { minutes: 20 }),
  since: toInstant(BEGAN),
}
const UNREACHABLE: Condition = {
  type: 'Ec2Unreachable',
  status: true,
  reason: BECAUSE,
  since: toInstant(BEGAN),
}
const UNREADABLE = { kind: 'unknown', because: BECAUSE, sinceMs: BEGAN } as const
const decideAt = (nowMs: number, worker: Worker, more: Partial<Observation>) =>
  decideWorker(worker, anObservation(more), WORKER_POLICY, nowMs)
const decide = (worker: Worker, more: Partial<Observation>) => decideAt(BEGAN + OUTAGE_MS, worker, more)

describe('a worker whose EC2 region does not answer', () => {
  it('retries with backoff and writes nothing before the outage has lasted 30 s', () => {
    expect(decideAt(BEGAN + OUTAGE_MS - 1, onMachine(), { ec2: UNREADABLE })).toEqual({
      action: { kind: 'retry', changes: null },
      because: BECAUSE,
      guards: [],
    })
  })

  it('retries with backoff and writes nothing when only its own read failed', () => {
    const { action } = decide(onMachine(), { ec2: { ...UNREADABLE, sinceMs: null } })
    expect(action).toEqual({ kind: 'retry', changes: null })
  })

  it('gets one condition for the whole outage, next to its others', () => {
    const first = decide(onMachine({ conditions: [OTHER] }), { ec2: UNREADABLE })
    expect(first.action).toEqual({ kind: 'retry', changes: { conditions: [OTHER, UNREACHABLE] } })
    const again = decideAt(BEGAN + 600_000, onMachine({ conditions: [OTHER, UNREACHABLE] }), { ec2: UNREADABLE })
    expect(again.action).toEqual({ kind: 'retry', changes: null })
  })

  it.each(['PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'TERMINATING', 'FAILED', 'UNKNOWN'] as const)(
    'retries in %s, whatever its desired status',
    status => {
      for (const desired_status of ['RUNNING', 'STOPPED', 'TERMINATED'] as const)
        expect(decide(onMachine({ status, desired_status }), { ec2: UNREADABLE }).action.kind).toBe('retry')
    },
  )
})

describe('a worker whose EC2 region answers again', () => {
  const unreachable = (more: Partial<Worker> = {}) => onMachine({ conditions: [OTHER, UNREACHABLE], ...more })

  it('loses the condition when there is nothing else to do, and is at rest', () => {
    const { action, because } = decide(unreachable(), { ec2: anEc2Observation() })
    expect(action).toEqual({ kind: 'write', changes: { conditions: [OTHER] }, afterMs: null })
    expect(because).toMatchObject({ code: 'at_desired_status', params: { status: 'RUNNING' } })
  })

  it('loses it with the write of the next step', () => {
    const { action } = decide(unreachable({ desired_status: 'STOPPED' }), { ec2: anEc2Observation() })
    expect(action).toMatchObject({ kind: 'write', changes: { status: 'STOPPING', conditions: [OTHER] }, afterMs: 0 })
  })

  it('loses it before its instance is changed', () => {
    const stopping = unreachable({ status: 'STOPPING', desired_status: 'STOPPED' })
    expect(decide(stopping, { ec2: anEc2Observation() }).action).toEqual({
      kind: 'write',
      changes: { conditions: [OTHER] },
      afterMs: 0,
    })
  })

  it("keeps it while EC2 can't be read for the image of its launch", () => {
    const launch = { template: null, region: null, image: null, scarce: new Map(), problem: UNREADABLE }
    const pending = aWorker({ conditions: [UNREACHABLE] })
    const ec2 = { kind: 'absent', confirmed: true, because: reason('nothing_launched') } as const
    expect(decide(pending, { ec2, launch }).action).toEqual({ kind: 'retry', changes: null })
  })
})
