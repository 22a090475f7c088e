import type { Worker } from '../worker/worker.ts'
import { effectiveIdleAction, referenceMs, startedByPersonMs } from './decide-idle.ts'
import { isUsedByHand } from './idle-calendar.ts'
import type { SettingValues } from './settings.ts'

/** By worker: until when it stays on without sessions, whatever the plan says, if no person uses it any more. */
export function keptUntil(workers: readonly Worker[], settings: SettingValues): ReadonlyMap<string, number> {
  const action = effectiveIdleAction(settings)
  const isNeverStopped = !settings.idle_detection_enabled || action === 'none'
  const timeoutMs = isNeverStopped ? Number.POSITIVE_INFINITY : settings.idle_timeout_seconds * 1000
  const keptMs = (worker: Worker) =>
    action !== 'calendar' || isNeverStopped || isUsedByHand(worker, null)
      ? referenceMs(worker, null) + timeoutMs
      : startedByPersonMs(worker) + settings.idle_snooze_seconds * 1000
  return new Map(
    workers
      .filter(worker => worker.status === 'RUNNING' && Object.keys(worker.reservations).length === 0)
      .map((worker): [string, number] => [worker.id, keptMs(worker)])
      .filter(([, ms]) => ms > Number.NEGATIVE_INFINITY),
  )
}
