import { aWorker } from '@lcm/testkit/builders'
import { expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import type { Worker } from '../worker/worker.ts'
import { decideIdle, type FleetCounts } from './idle.ts'
import { SETTING_DEFAULTS, type SettingValues } from './settings.ts'

const NOW = toMs(aWorker().entered_status_at) + 2 * 3_600_000
const ago = (seconds: number) => toInstant(NOW - seconds * 1000)
const QUIET = { last_activity_at: null, running_nodes: 3 }
const FLEET: FleetCounts = { running: 4, lastScaleDownAt: null, isHeld: false }
const words = (
  worker: Partial<Worker>,
  more: { settings?: Partial<SettingValues>; fleet?: Partial<FleetCounts>; last_activity_at?: string } = {},
) =>
  decideIdle(
    aWorker({ status: 'RUNNING', ...worker }),
    { ...QUIET, last_activity_at: more.last_activity_at ?? null },
    { ...SETTING_DEFAULTS, ...more.settings },
    { fleet: { ...FLEET, ...more.fleet }, nowMs: NOW },
  ).verdict.because

it.each<[string, Partial<Worker>, Parameters<typeof words>[1]]>([
  ['it was last used or started 12 min ago, and counts as idle after 60 min', {}, { last_activity_at: ago(750) }],
  ['it was last used or started 50 s ago, and counts as idle after 60 min', {}, { last_activity_at: ago(50) }],
  ['idle detection is off for it', { idle_detection_enabled: false }, {}],
  ['idle detection is off for all', {}, { settings: { idle_detection_enabled: false } }],
  ['idle workers are to be left alone (idle_action is none)', {}, { settings: { idle_action: 'none' } }],
  ['idle workers are to be drained, and scale_down_enabled is off', {}, { settings: { idle_action: 'drain' } }],
  ['it is STARTING', { status: 'STARTING' }, {}],
  ['it is protected', { protected: true }, {}],
  ['1 session waits for it', { wanted_by: ['ls-1'] }, {}],
  ['3 nodes run on it, and idle_running_nodes is keep', {}, { settings: { idle_running_nodes: 'keep' } }],
  ['a person wants it so for another 90 s', { desired_until: toInstant(NOW + 90_000) }, {}],
  ['the fleet is held until every worker has been looked at', {}, { fleet: { isHeld: true } }],
  ['2 workers run, and min_workers is 2', {}, { fleet: { running: 2 }, settings: { min_workers: 2 } }],
  ['the last automatic stop was 30 s ago, and 600 s must pass', {}, { fleet: { lastScaleDownAt: ago(30) } }],
])('%s', (because, worker, more) => {
  expect(words(worker, more)).toBe(because)
})

it('says when a worker that was started a moment ago is no longer left alone', () => {
  const pause = { ...aWorker().pause, last_resumed_at: ago(30 * 60) }
  const settings = { idle_timeout_seconds: 600 }
  expect(words({ pause }, { settings })).toBe('it was started again and is left alone for another 1800 s')
})
