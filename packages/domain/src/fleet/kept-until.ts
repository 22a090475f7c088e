import type { Worker } from '../worker/worker.ts'
import { effectiveIdleAction, referenceMs } from './decide-idle.ts'
import { isUsedByHand } from './idle-calendar.ts'
import type { SettingValues } from './settings.ts'

/** By worker: until when it stays on without sessions, whatever the plan says, if no person uses it any more. */
export function keptUntil(workers: readonly Worker[], settings: SettingValues): ReadonlyMap<string, number> {
  const action = effectiveIdleAction(settings)
  const isNeverStopped = !settings.idle_detection_enabled || action === 'none'
  const timeoutMs = isNeverStopped ? Number.POSITIVE_INFINITY : settings.idle_timeout_seconds * 1000
  return new Map(
    workers
      .filter(worker => worker.status === 'RUNNING' && Object.keys(worker.reservations).length === 0)
      .filter(worker => action !== 'calendar' || isNeverStopped || isUsedByHand(worker, null))
      .map(worker => [worker.id, referenceMs(worker, null) + timeoutMs]),
  )
}
