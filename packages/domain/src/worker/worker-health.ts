import { degraded, down, HEALTHY, type Health } from '../health.ts'
import { type Reason, reason } from '../reason.ts'
import { BOOT_CONDITIONS } from './boot-stages.ts'
import { awaitsApproval } from './instance-trust.ts'
import { CONDITION, type Worker } from './worker.ts'

/** Problems of a worker that otherwise works, the most serious first. */
const TROUBLES = [
  CONDITION.certificateChanged,
  CONDITION.cmlAccessRefused,
  CONDITION.ec2Unreachable,
  CONDITION.stopBlocked,
  CONDITION.terminateBlocked,
  CONDITION.overdue,
  CONDITION.seatMissing,
  CONDITION.metricsStale,
]

/** Whether a worker does what is requested of it, from its record alone, so that every reader says the same. */
export function workerHealth(worker: Worker): Health {
  const { status, entered_status_at, desired_status, desired_at } = worker
  const because: Reason = reason('worker_status', { worker: null, status })
  if (status === 'TERMINATED') return HEALTHY
  if (status === 'FAILED') return down(trueCondition(worker, CONDITION.failed)?.reason ?? because, entered_status_at)
  const blocked = trueCondition(worker, CONDITION.blocked)
  if (blocked !== undefined) return down(blocked.reason, blocked.since)
  if (status === 'UNKNOWN') return troubleOf(worker) ?? degraded(because, entered_status_at)
  // A worker that was only just requested to start is well.
  const stoppedByItself = desired_at === null || desired_at <= entered_status_at
  if (status === 'STOPPED' && desired_status === 'RUNNING' && stoppedByItself)
    return degraded(because, entered_status_at)
  return healthOfCml(worker) ?? troubleOf(worker) ?? HEALTHY
}

const trueCondition = ({ conditions }: Worker, type: string) =>
  conditions.find(condition => condition.type === type && condition.status)

/** A running machine whose CML does not serve. An unapproved machine is not asked. */
function healthOfCml(worker: Worker): Health | null {
  const { status, service_status } = worker
  if ((status !== 'RUNNING' && status !== 'DRAINING') || awaitsApproval(worker)) return null
  if (service_status !== 'UNAVAILABLE' && service_status !== 'ERROR') return null
  const other = trueCondition(worker, CONDITION.certificateChanged)
  const known = other ?? missingStage(worker)
  return down(
    known?.reason ?? reason('cml_status', { status: service_status }),
    known?.since ?? worker.entered_status_at,
  )
}

/** What CML waits for: later stages only wait for this one. */
function missingStage({ conditions }: Worker) {
  for (const type of BOOT_CONDITIONS) {
    const missing = conditions.find(condition => condition.type === type && !condition.status)
    if (missing !== undefined) return missing
  }
  return undefined
}

function troubleOf(worker: Worker): Health | null {
  for (const type of TROUBLES) {
    const trouble = trueCondition(worker, type)
    if (trouble !== undefined) return degraded(trouble.reason, trouble.since)
  }
  return null
}
