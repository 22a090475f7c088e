import { POLICY } from '@lcm/domain/worker/lifecycle'
import type { Worker } from '@lcm/domain/worker/worker'

/** Whether it stops, or will stop, because it is idle. */
const isIdleStop = ({ desired_status, desired_by, drain }: Worker): boolean =>
  (desired_status !== 'RUNNING' && desired_by === POLICY.idle) || drain?.by === POLICY.idle

/** Whether the idle policy stopped it between these two versions. */
export const isStoppedAsIdle = (worker: Worker, before: Worker): boolean => !isIdleStop(before) && isIdleStop(worker)
