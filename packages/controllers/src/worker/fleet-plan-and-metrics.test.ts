import { reason, textReason } from '@lcm/domain/reason'
import { type Decision, nothing, perform, wait } from '@lcm/domain/worker/decision/decision'
import type { DriftType } from '@lcm/domain/worker/drift'
import { NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { type RecordingMeter, recordingMeter } from '@lcm/testkit/recording-meter'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FleetBoard, fleetBoard } from './fleet-plan-and-metrics.ts'

const SERIES_MAX = 500
let clock: ManualClock
let meter: RecordingMeter
let board: FleetBoard

const REST = nothing(reason('at_desired_status', { status: 'RUNNING' }))
const running = (id: string) => aWorker({ id, status: 'RUNNING', service_status: 'AVAILABLE' })
const observation = (decision: Decision = REST, drift: DriftType | null = null, ec2 = 'running') => ({
  decision,
  drift,
  ec2,
  seconds: 0.2,
})

beforeEach(() => {
  clock = manualClock(Date.parse('2026-01-02T03:04:05.000Z'))
  meter = recordingMeter()
  board = fleetBoard({ meter, clock, workerSeriesMax: SERIES_MAX })
})

describe('the plan', () => {
  it('has the next action of each worker, its time and its reason', () => {
    board.reconciled(running('w-1'), observation(wait(5_000, reason('ec2_reports', { state: 'stopping' }))))
    board.reconciled(running('w-2'), observation(perform({ kind: 'terminate' }, textReason('x'.repeat(2_000)))))
    const stopping = reason('ec2_reports', { state: 'stopping' })
    const long = textReason('x'.repeat(1_000))
    expect(board.plan()).toEqual([
      { resource: 'worker:w-1', action: 'wait', because: stopping, due_at: '2026-01-02T03:04:10.000Z' },
      { resource: 'worker:w-2', action: 'terminate', because: long, due_at: '2026-01-02T03:04:05.000Z' },
    ])
  })

  it.each<[string, Decision]>([
    ['it is at rest', REST],
    ['only a probe is due', perform({ kind: 'survey' }, textReason('it is time'))],
  ])('drops a worker once %s', (_, decision) => {
    board.reconciled(running('w-1'), observation(wait(1, textReason('a wait'))))
    board.reconciled(running('w-1'), observation(decision))
    expect(board.plan()).toEqual([])
  })

  it("has EC2's reason for a refused action that is retried", () => {
    const refused = { type: 'StopBlocked', status: true, reason: textReason('EC2 refuses to stop i-1'), since: '' }
    const stopping = aWorker({ id: 'w-1', status: 'STOPPING', desired_status: 'STOPPED', conditions: [refused] })
    board.reconciled(
      stopping,
      observation(perform({ kind: 'stop', force: false }, reason('ec2_reports', { state: 'running' }))),
    )
    expect(board.plan()).toMatchObject([{ action: 'stop', because: refused.reason }])
  })

  it('has requests that only an operator can fulfill', () => {
    const because = reason('failed_and_stopped')
    board.reconciled(aWorker({ id: 'w-1', status: 'FAILED' }), observation(nothing(because)))
    expect(board.plan()).toEqual([{ resource: 'worker:w-1', action: 'manual', because, due_at: null }])
    board.reconciled(
      aWorker({ id: 'w-1', status: 'PENDING', desired_status: 'STOPPED' }),
      observation(nothing(reason('at_desired_status', { status: 'STOPPED' }))),
    )
    expect(board.plan()).toEqual([])
  })
})

describe('the counts', () => {
  it('are based on the last reconcile of each worker', () => {
    board.reconciled(running('w-1'), observation(REST, 'state'))
    board.reconciled(running('w-1'), observation(REST, 'address'))
    board.reconciled(running('w-2'), observation(REST, 'type'))
    board.reconciled(running('w-2'), observation(REST))
    board.reconciled(aWorker({ id: 'w-3', status: 'STOPPED' }), observation())
    expect([board.workersManaged(), board.workersWithDrift(), board.runningWorkers()]).toEqual([3, 1, 2])
  })

  it('are dropped with the worker and with the term', () => {
    board.reconciled(running('w-1'), observation(wait(1, textReason('a wait')), 'state'))
    board.reconciled(running('w-2'), observation(wait(1, textReason('a wait')), 'state'))
    board.forget('w-1')
    expect([board.workersManaged(), board.workersWithDrift(), board.plan().length]).toEqual([1, 1, 1])
    board.clear()
    expect([board.workersManaged(), board.workersWithDrift(), board.plan().length]).toEqual([0, 0, 0])
    expect(meter.value('worker_ec2_state', { worker_id: 'w-2', state: 'running' })).toBeUndefined()
  })
})

describe('the metrics', () => {
  it('are kept for each worker', () => {
    const licensed = { ...NO_LICENSE, status: 'REGISTERED', product: 'CML_Enterprise' } as const
    board.reconciled({ ...running('w-1'), license: licensed }, observation(REST, 'license'))
    board.reconciled({ ...running('w-1'), license: licensed }, observation(REST, 'license'))
    const worker_id = 'w-1'
    expect(meter.observations('worker_reconciliation_duration_seconds', { worker_id })).toEqual([0.2, 0.2])
    expect(meter.value('worker_drift_detected_total', { worker_id, drift_type: 'license' })).toBe(2)
    expect(meter.value('worker_ec2_state', { worker_id, state: 'running' })).toBe(1)
    expect(meter.value('worker_cml_license_status', { worker_id, tier: 'CML_Enterprise' })).toBe(1)
    expect(meter.value('worker_series_folded')).toBe(0)
  })

  it('exist for every kind of drift before any was found', () => {
    for (const drift_type of ['state', 'address', 'type', 'absent', 'license'])
      expect(meter.value('worker_drift_detected_total', { worker_id: '_all', drift_type })).toBe(0)
  })

  it('show only the last state of EC2', () => {
    board.reconciled(running('w-1'), observation(REST, null, 'running'))
    board.reconciled(running('w-1'), observation(REST, null, 'stopping'))
    expect(meter.value('worker_ec2_state', { worker_id: 'w-1', state: 'running' })).toBeUndefined()
    expect(meter.value('worker_ec2_state', { worker_id: 'w-1', state: 'stopping' })).toBe(1)
    expect(meter.value('worker_cml_license_status', { worker_id: 'w-1', tier: 'none' })).toBe(0)
  })

  it('are dropped with the worker', () => {
    board.reconciled(running('w-1'), observation(REST, 'state'))
    board.forget('w-1')
    const worker_id = 'w-1'
    expect(meter.value('worker_ec2_state', { worker_id, state: 'running' })).toBeUndefined()
    expect(meter.value('worker_cml_license_status', { worker_id, tier: 'none' })).toBeUndefined()
    expect(meter.value('worker_drift_detected_total', { worker_id, drift_type: 'state' })).toBeUndefined()
    expect(meter.observations('worker_reconciliation_duration_seconds', { worker_id })).toEqual([])
  })

  it('are dropped with the term: a standby would not notice that a worker is gone', () => {
    board.reconciled(running('w-1'), observation(REST, 'state'))
    board.clear()
    const worker_id = 'w-1'
    expect(meter.value('worker_drift_detected_total', { worker_id, drift_type: 'state' })).toBeUndefined()
    expect(meter.observations('worker_reconciliation_duration_seconds', { worker_id })).toEqual([])
  })

  it('are totals for more than five hundred workers, without stale series', () => {
    for (let n = 0; n < SERIES_MAX; n += 1) board.reconciled(running(`w-${n}`), observation())
    expect(meter.value('worker_ec2_state', { worker_id: 'w-499', state: 'running' })).toBe(1)
    board.reconciled(running('one-more'), observation(REST, 'state'))
    expect(meter.value('worker_series_folded')).toBe(1)
    expect(meter.value('worker_drift_detected_total', { worker_id: '_all', drift_type: 'state' })).toBe(1)
    expect(meter.observations('worker_reconciliation_duration_seconds', { worker_id: '_all' })).toEqual([0.2])
    expect(meter.value('worker_ec2_state', { worker_id: 'one-more', state: 'running' })).toBeUndefined()
    expect(meter.value('worker_ec2_state', { worker_id: 'w-499', state: 'running' })).toBeUndefined()
    board.forget('one-more')
    board.reconciled(running('w-0'), observation())
    expect(meter.value('worker_series_folded')).toBe(0)
    expect(meter.value('worker_ec2_state', { worker_id: 'w-0', state: 'running' })).toBe(1)
  })
})
