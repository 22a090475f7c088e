import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import type { DesiredStatus, ServiceStatus, StateChange, Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'

/** A draining worker continues to the status after the drain, which is not its desired status yet. */
export const desiredStatusOf = ({ status, drain, desired_status }: Worker): DesiredStatus =>
  status === 'DRAINING' && drain !== null ? drain.then : desired_status

/** Null while the status is as desired. */
export const differingDesired = (worker: Worker): DesiredStatus | null =>
  worker.status === desiredStatusOf(worker) ? null : desiredStatusOf(worker)

/** Newest first. Stored in the order of the changes, so a clock that was set back can't reorder it. */
export const historyOf = (worker: Worker): StateChange[] => worker.state_history.toReversed()

const SERVICE_TEXTS: Readonly<Record<ServiceStatus, string>> = {
  UNAVAILABLE: 'CML is not available',
  STARTING: 'CML is starting',
  AVAILABLE: 'CML is available',
  ERROR: 'CML reports an error',
}

/** Activity of a worker that is not booting. What matters comes first, because narrow columns cut the end. */
export function statusNote(worker: Worker): string {
  if (awaitsApproval(worker)) return 'Approval required'
  const { reason } = workerHealth(worker)
  // The history says why it has its status.
  if (reason !== null && reason.code !== 'worker_status') return reason.message
  if (worker.status === 'RUNNING')
    // Without the build, such as +build.7, for which lists have no space.
    return [SERVICE_TEXTS[worker.service_status], worker.cml.version?.split('+')[0]].filter(Boolean).join(', ')
  const launchError = worker.status === 'PENDING' || worker.status === 'FAILED' ? worker.launch?.error : null
  return launchError ?? historyOf(worker)[0]?.because.message ?? ''
}
