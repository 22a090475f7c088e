import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import {
  CONDITION,
  type DesiredStatus,
  holds,
  type ServiceStatus,
  type StateChange,
  type Worker,
} from '@lcm/domain/worker/worker'

/** A draining worker continues to the status after the drain, which is not its desired status yet. */
export const desiredStatusOf = ({ status, drain, desired_status }: Worker): DesiredStatus =>
  status === 'DRAINING' && drain !== null ? drain.then : desired_status

export const differsFromDesired = (worker: Worker): boolean => worker.status !== desiredStatusOf(worker)

/** Newest first. Stored in the order of the changes, so a clock that was set back can't reorder it. */
export const historyOf = (worker: Worker): StateChange[] => worker.state_history.toReversed()

const SERVICE_TEXTS: Readonly<Record<ServiceStatus, string>> = {
  UNAVAILABLE: 'is not responding',
  STARTING: 'is starting',
  AVAILABLE: 'available',
  ERROR: 'reports an error',
}

/** Activity of a worker that is not booting, in one line. */
export function statusNote(worker: Worker): string {
  if (awaitsApproval(worker)) return 'Approval required'
  if (holds(worker.conditions, CONDITION.certificateChanged)) return 'CML shows another certificate'
  if (worker.status === 'RUNNING') return `CML ${worker.cml.version ?? ''} ${SERVICE_TEXTS[worker.service_status]}`
  const launchError = worker.status === 'PENDING' || worker.status === 'FAILED' ? worker.launch?.error : null
  return launchError ?? historyOf(worker)[0]?.because.message ?? ''
}
