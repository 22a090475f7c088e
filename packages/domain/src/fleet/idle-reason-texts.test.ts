import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { heldFrom } from '../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../instant.ts'
import type { Worker } from '../worker/worker.ts'
import { decideIdle, type FleetCounts } from './decide-idle.ts'
import { SETTING_DEFAULTS, type SettingValues } from './settings.ts'

const NOW = toMs(aWorker().entered_status_at) + 2 * 3_600_000
const ago = (seconds: number) => toInstant(NOW - seconds * 1000)
const RESERVATION = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(ago(60)) }
const DRAIN: Worker['drain'] = {
  requested_at: ago(60),
  by: 'ann',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'STOPPED',
  deadline: ago(-60),
}
const FLEET: FleetCounts = { running: 4, lastScaleDownAt: null, recentStops: 0, size: 4, isHeld: false }
const reasonFor = (
  worker: Partial<Worker>,
  more: {
    settings?: Partial<SettingValues>
    fleet?: Partial<FleetCounts>
    last_activity_at?: string
    running_nodes?: number | null
  } = {},
) =>
  decideIdle(
    aWorker({ status: 'RUNNING', ...worker }),
    {
      last_activity_at: more.last_activity_at ?? null,
      running_nodes: more.running_nodes === undefined ? 3 : more.running_nodes,
    },
    { ...SETTING_DEFAULTS, ...more.settings },
    { fleet: { ...FLEET, ...more.fleet }, nowMs: NOW },
  ).verdict.because

it.each<[string, object, Partial<Worker>, Parameters<typeof reasonFor>[1]]>([
  ['not_idle', { idle_seconds: 720, timeout_seconds: 3600 }, {}, { last_activity_at: ago(750) }],
  ['not_idle', { idle_seconds: 50, timeout_seconds: 3600 }, {}, { last_activity_at: ago(50) }],
  ['idle_detection_off', { scope: 'worker' }, { idle_detection_enabled: false }, {}],
  ['idle_detection_off', { scope: 'fleet' }, {}, { settings: { idle_detection_enabled: false } }],
  ['idle_action_none', {}, {}, { settings: { idle_action: 'none' } }],
  ['scale_down_disabled', {}, {}, { settings: { idle_action: 'drain' } }],
  ['worker_status', { worker: null, status: 'STARTING' }, { status: 'STARTING' }, {}],
  ['worker_protected', {}, { protected: true }, {}],
  ['drain_in_progress', {}, { drain: DRAIN }, {}],
  ['worker_has_sessions', { sessions: 1 }, { reservations: { 'ls-1': RESERVATION } }, {}],
  ['sessions_waiting_for_worker', { sessions: 1 }, { wanted_by: ['ls-1'] }, {}],
  ['running_nodes_kept', { nodes: 3 }, {}, { settings: { idle_running_nodes: 'keep' } }],
  ['running_nodes_kept', { nodes: null }, {}, { settings: { idle_running_nodes: 'keep' }, running_nodes: null }],
  ['status_held', { seconds: 90 }, { desired_until: toInstant(NOW + 90_000) }, {}],
  ['fleet_held', {}, {}, { fleet: { isHeld: true } }],
  ['min_workers_reached', { running: 2, min_workers: 2 }, {}, { fleet: { running: 2 }, settings: { min_workers: 2 } }],
  [
    'scale_down_cooldown',
    { elapsed_seconds: 30, cooldown_seconds: 600 },
    {},
    { fleet: { lastScaleDownAt: ago(30) }, settings: { scale_down_cooldown_seconds: 600 } },
  ],
  ['scale_down_share', { stops: 1, limit: 1, workers: 4 }, {}, { fleet: { recentStops: 1 } }],
  ['stop_already_requested', {}, { desired_status: 'STOPPED' }, {}],
])('a running worker is not stopped: %s %o', (code, params, worker, more) => {
  expect(reasonFor(worker, more)).toMatchObject({ code, params })
  expect(Object.keys(reasonFor(worker, more).params)).toEqual(Object.keys(params))
})

it('has the remaining snooze of a worker that was just started', () => {
  const pause = { ...aWorker().pause, last_resumed_at: ago(30 * 60) }
  const settings = { idle_timeout_seconds: 600 }
  expect(reasonFor({ pause }, { settings })).toMatchObject({ code: 'idle_snoozed', params: { seconds: 1800 } })
})
