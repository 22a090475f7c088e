import type { DriftType } from '@lcm/domain/worker/drift'
import { NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { type RecordingMeter, recordingMeter } from '@lcm/testkit/recording-meter'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, expect, it } from 'vitest'
import { type WorkerSeries, workerSeries } from './report.ts'

const SERIES_MAX = 500
let meter: RecordingMeter
let series: WorkerSeries

const running = (id: string) => aWorker({ id, status: 'RUNNING', service_status: 'AVAILABLE' })
const found = (drift: DriftType | null = null, ec2 = 'running', workers = 1) => ({ drift, ec2, seconds: 0.2, workers })

beforeEach(() => {
  meter = recordingMeter()
  series = workerSeries(meter, SERIES_MAX)
})

it('has series for each worker', () => {
  const licensed = { ...NO_LICENSE, status: 'REGISTERED', product: 'CML_Enterprise' } as const
  series.reconciled({ ...running('w-1'), license: licensed }, found('license'))
  series.reconciled({ ...running('w-1'), license: licensed }, found('license'))
  const worker_id = 'w-1'
  expect(meter.observations('worker_reconciliation_duration_seconds', { worker_id })).toEqual([0.2, 0.2])
  expect(meter.value('worker_drift_detected_total', { worker_id, drift_type: 'license' })).toBe(2)
  expect(meter.value('worker_ec2_state', { worker_id, state: 'running' })).toBe(1)
  expect(meter.value('worker_cml_license_status', { worker_id, tier: 'CML_Enterprise' })).toBe(1)
  expect(meter.value('worker_series_folded')).toBe(0)
})

it('has a series for every kind of drift before any was found', () => {
  for (const drift_type of ['state', 'address', 'type', 'absent', 'license'])
    expect(meter.value('worker_drift_detected_total', { worker_id: '_all', drift_type })).toBe(0)
})

it('shows only the last state of EC2', () => {
  series.reconciled(running('w-1'), found(null, 'running'))
  series.reconciled(running('w-1'), found(null, 'stopping'))
  expect(meter.value('worker_ec2_state', { worker_id: 'w-1', state: 'running' })).toBeUndefined()
  expect(meter.value('worker_ec2_state', { worker_id: 'w-1', state: 'stopping' })).toBe(1)
  expect(meter.value('worker_cml_license_status', { worker_id: 'w-1', tier: 'none' })).toBe(0)
})

it('drops the series of a worker that is gone', () => {
  series.reconciled(running('w-1'), found('state'))
  series.forget('w-1')
  const worker_id = 'w-1'
  expect(meter.value('worker_ec2_state', { worker_id, state: 'running' })).toBeUndefined()
  expect(meter.value('worker_cml_license_status', { worker_id, tier: 'none' })).toBeUndefined()
  expect(meter.value('worker_drift_detected_total', { worker_id, drift_type: 'state' })).toBeUndefined()
  expect(meter.observations('worker_reconciliation_duration_seconds', { worker_id })).toEqual([])
})

it('drops all series with the term: a standby would not notice that a worker is gone', () => {
  series.reconciled(running('w-1'), found('state'))
  series.clear()
  const worker_id = 'w-1'
  expect(meter.value('worker_drift_detected_total', { worker_id, drift_type: 'state' })).toBeUndefined()
  expect(meter.observations('worker_reconciliation_duration_seconds', { worker_id })).toEqual([])
})

it('has totals for more than five hundred workers, without stale series', () => {
  for (let n = 0; n < SERIES_MAX; n += 1) series.reconciled(running(`w-${n}`), found())
  expect(meter.value('worker_ec2_state', { worker_id: 'w-499', state: 'running' })).toBe(1)
  series.reconciled(running('one-more'), found('state', 'running', SERIES_MAX + 1))
  expect(meter.value('worker_series_folded')).toBe(1)
  expect(meter.value('worker_drift_detected_total', { worker_id: '_all', drift_type: 'state' })).toBe(1)
  expect(meter.observations('worker_reconciliation_duration_seconds', { worker_id: '_all' })).toEqual([0.2])
  expect(meter.value('worker_ec2_state', { worker_id: 'one-more', state: 'running' })).toBeUndefined()
  expect(meter.value('worker_ec2_state', { worker_id: 'w-499', state: 'running' })).toBeUndefined()
  series.forget('one-more')
  series.reconciled(running('w-0'), found(null, 'running', SERIES_MAX))
  expect(meter.value('worker_series_folded')).toBe(0)
  expect(meter.value('worker_ec2_state', { worker_id: 'w-0', state: 'running' })).toBe(1)
})
