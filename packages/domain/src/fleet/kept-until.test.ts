import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { withReservation } from '../calendar/worker-ledger.ts'
import { toMs } from '../instant.ts'
import { keptUntil } from './kept-until.ts'
import { SETTING_DEFAULTS, type SettingValues } from './settings.ts'

const worker = aServingWorker({ id: 'w' })
const usedMs = toMs(worker.entered_status_at)
const HOUR_MS = 3_600_000
const keptMs = (settings: Partial<SettingValues> = {}, subject = worker) =>
  keptUntil([subject], { ...SETTING_DEFAULTS, ...settings }).get('w') ?? null

it('keeps a worker that people use by hand for the idle timeout', () => {
  expect(keptMs()).toBe(usedMs + HOUR_MS)
  expect(keptMs({ idle_timeout_seconds: 60 })).toBe(usedMs + 60_000)
})

it('leaves a worker that only sessions used to the plan, unless all follow the timeout', () => {
  const released = { ...worker, activity: { ...worker.activity, sessions_until: '2030-01-01T00:00:00.000Z' } }
  expect(keptMs({}, { ...released, origin: 'SCALE_UP' })).toBeNull()
  expect(keptMs({}, { ...worker, origin: 'SCALE_UP' })).toBeNull()
  expect(keptMs({ idle_action: 'pause' }, released)).toBe(usedMs + HOUR_MS)
})

it('keeps a worker that a person created or started for a while', () => {
  const released = { ...worker, activity: { ...worker.activity, sessions_until: '2030-01-01T00:00:00.000Z' } }
  expect(keptMs({}, released)).toBe(toMs(worker.created_at) + HOUR_MS)
  const resumed = { ...released, desired_by: 'ann', pause: { ...worker.pause, last_resumed_at: worker.updated_at } }
  expect(keptMs({ idle_snooze_seconds: 60 }, resumed)).toBe(toMs(worker.updated_at) + 60_000)
})

it('keeps all for good where no policy stops them', () => {
  for (const settings of [{ idle_detection_enabled: false }, { idle_action: 'none' as const }])
    expect(keptMs(settings)).toBe(Number.POSITIVE_INFINITY)
})

it('says nothing about a worker with sessions, or one that does not run', () => {
  const needs = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, node_count: 1 }
  expect(keptMs({}, withReservation(worker, 'ls-1', needs, worker.created_at))).toBeNull()
  expect(keptMs({}, { ...worker, status: 'STOPPED' })).toBeNull()
})
