import { toMs } from '@lcm/domain/instant'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { CLOCK_MS_MAX } from '../../world/controller-process.ts'
import { MINUTE_MS } from '../../world/durations.ts'
import type { LabTruth } from './lab-truth.ts'

/** Longer than LCM needs to see a machine that was started again. */
const RUNNING_MS = 2 * MINUTE_MS

export interface EndedByLcm {
  readonly before: LabletSession
  readonly after: LabletSession
  readonly worker: Worker | undefined
  /** Of the session before. */
  readonly truth: LabTruth
  readonly nowMs: number
}

/** While EC2 says that its machine runs, an unreachable CML neither ends nor moves a session that people use. */
export function endedBySilence({ before, after, worker, truth, nowMs }: EndedByLcm): string[] {
  const { id, timeslot, desired_status } = after
  const isMoved = after.status === 'PENDING'
  if (!isUp(before.status) || (!isMoved && after.status !== 'STOPPING')) return []
  const isRequested = after.state_history.at(-1)?.because.code === 'session_moved_by'
  const isOver = isRequested || desired_status === 'TERMINATED' || nowMs >= toMs(timeslot.end) - CLOCK_MS_MAX
  const mayMove = isMoved && nowMs < toMs(timeslot.start)
  const isMachineUp = truth.runningSinceMs !== null && nowMs - truth.runningSinceMs > RUNNING_MS
  if (isOver || mayMove || worker?.desired_status !== 'RUNNING' || !isMachineUp || truth.lab === null) return []
  return [`${id} is ${after.status} although its machine and its lab are there`]
}
