import { reason, textReason } from '@lcm/domain/reason'
import { type Decision, nothing, perform, wait } from '@lcm/domain/worker/decision/decision'
import type { DriftType } from '@lcm/domain/worker/drift'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FleetMemory, fleetMemory } from './term-memory.ts'

let fleet: FleetMemory

const REST = nothing(reason('at_desired_status', { status: 'RUNNING' }))
const running = (id: string) => aWorker({ id, status: 'RUNNING', service_status: 'AVAILABLE' })
const found = (decision: Decision = REST, drift: DriftType | null = null) => ({ decision, drift })

beforeEach(() => {
  fleet = fleetMemory(manualClock(Date.parse('2026-01-02T03:04:05.000Z')))
})

describe('the plan', () => {
  it('has the next action of each worker, its time and its reason', () => {
    fleet.reconciled(running('w-1'), found(wait(5_000, reason('ec2_reports', { state: 'stopping' }))))
    fleet.reconciled(running('w-2'), found(perform({ kind: 'terminate' }, textReason('x'.repeat(2_000)))))
    const stopping = reason('ec2_reports', { state: 'stopping' })
    const long = textReason('x'.repeat(1_000))
    expect(fleet.plan()).toEqual([
      { resource: 'worker:w-1', action: 'wait', because: stopping, due_at: '2026-01-02T03:04:10.000Z' },
      { resource: 'worker:w-2', action: 'terminate', because: long, due_at: '2026-01-02T03:04:05.000Z' },
    ])
  })

  it.each<[string, Decision]>([
    ['it is at rest', REST],
    ['only a probe is due', perform({ kind: 'survey' }, textReason('it is time'))],
  ])('drops a worker once %s', (_, decision) => {
    fleet.reconciled(running('w-1'), found(wait(1, textReason('a wait'))))
    fleet.reconciled(running('w-1'), found(decision))
    expect(fleet.plan()).toEqual([])
  })

  it("has EC2's reason for a refused action that is retried", () => {
    const refused = { type: 'StopBlocked', status: true, reason: textReason('EC2 refuses to stop i-1'), since: '' }
    const stopping = aWorker({ id: 'w-1', status: 'STOPPING', desired_status: 'STOPPED', conditions: [refused] })
    fleet.reconciled(
      stopping,
      found(perform({ kind: 'stop', force: false }, reason('ec2_reports', { state: 'running' }))),
    )
    expect(fleet.plan()).toMatchObject([{ action: 'stop', because: refused.reason }])
  })

  it('has requests that only an operator can fulfill', () => {
    const because = reason('failed_and_stopped')
    fleet.reconciled(aWorker({ id: 'w-1', status: 'FAILED' }), found(nothing(because)))
    expect(fleet.plan()).toEqual([{ resource: 'worker:w-1', action: 'manual', because, due_at: null }])
    fleet.reconciled(
      aWorker({ id: 'w-1', status: 'PENDING', desired_status: 'STOPPED' }),
      found(nothing(reason('at_desired_status', { status: 'STOPPED' }))),
    )
    expect(fleet.plan()).toEqual([])
  })
})

describe('the counts', () => {
  it('are based on the last reconcile of each worker', () => {
    fleet.reconciled(running('w-1'), found(REST, 'state'))
    fleet.reconciled(running('w-1'), found(REST, 'address'))
    fleet.reconciled(running('w-2'), found(REST, 'type'))
    fleet.reconciled(running('w-2'), found(REST))
    fleet.reconciled(aWorker({ id: 'w-3', status: 'STOPPED' }), found())
    expect([fleet.workersManaged(), fleet.workersWithDrift(), fleet.runningIds().length]).toEqual([3, 1, 2])
  })

  it('are dropped with the worker', () => {
    fleet.reconciled(running('w-1'), found(wait(1, textReason('a wait')), 'state'))
    fleet.reconciled(running('w-2'), found(wait(1, textReason('a wait')), 'state'))
    fleet.forget('w-1')
    expect([fleet.workersManaged(), fleet.workersWithDrift(), fleet.plan().length]).toEqual([1, 1, 1])
  })
})
