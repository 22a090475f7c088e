import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, expect, it } from 'vitest'
import { type MetricsAge, metricsAge } from './term-memory.ts'

const INTERVAL_MS = 60_000
const T0 = Date.UTC(2026, 0, 1)
const worker = aWorker({ status: 'RUNNING' })
let times: MetricsAge
beforeEach(() => {
  times = metricsAge(INTERVAL_MS)
})

it('is silent after three intervals without a sample, counted from the first observation', () => {
  expect(times.staleSince(worker, T0)).toBeNull()
  expect(times.staleSince(worker, T0 + 3 * INTERVAL_MS)).toBeNull()
  expect(times.staleSince(worker, T0 + 3 * INTERVAL_MS + 1)).toBe(T0)
})

it('counts again from every sample', () => {
  times.staleSince(worker, T0)
  times.measured(worker.id, T0 + 200_000)
  expect(times.staleSince(worker, T0 + 201_000)).toBeNull()
  expect(times.staleSince(worker, T0 + 400_000)).toBe(T0 + 200_000)
})

it('counts from when the worker runs: it is not measured before', () => {
  times.measured(worker.id, T0)
  expect(times.staleSince({ ...worker, status: 'STOPPED' }, T0 + 900_000)).toBeNull()
  expect(times.staleSince(worker, T0 + 900_001)).toBeNull()
  times.forget(worker.id)
  expect(times.staleSince(worker, T0 + 9_000_000)).toBeNull()
})

it('is not cleared by a new term without a sample of its own', () => {
  const condition = { type: 'MetricsStale', status: true, reason: textReason('no sample'), since: toInstant(T0) }
  const reported = { ...worker, conditions: [condition] }
  expect(times.staleSince(reported, T0 + 900_000)).toBe(T0)
  times.measured(worker.id, T0 + 910_000)
  expect(times.staleSince(reported, T0 + 920_000)).toBeNull()
  times = metricsAge(INTERVAL_MS)
  expect(times.staleSince(reported, T0 + 930_000)).toBe(T0)
})
