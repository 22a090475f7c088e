import { needsApproval } from '@lcm/domain/worker/instance-trust'
import { CONDITION, type DesiredStatus, holds, type Worker } from '@lcm/domain/worker/worker'
import { WORKERS } from '../resource-kinds.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { printable } from '../terminal/table.ts'
import { impossible, reached, underWay, type Verdict, type Waited } from '../wait-for-goal.ts'
import type { Settling } from '../waitable-command.ts'
import { failureOf, waitsFor } from './worker-view.ts'

export interface Goal {
  readonly status: DesiredStatus
  /** When the worker had entered FAILED before the wait; only a later failure ends the wait. */
  readonly failedSince: string | null
}

export const goalFor = (worker: Worker): Goal => ({
  status: worker.desired_status,
  failedSince: worker.status === 'FAILED' ? worker.entered_status_at : null,
})

/** Whether a worker has reached its goal, is in progress or can't reach it. */
export function judge(worker: Worker, goal: Goal): Verdict {
  const isUsable = goal.status !== 'RUNNING' || worker.service_status === 'AVAILABLE' || needsApproval(worker)
  if (worker.status === goal.status && isUsable) return reached
  if (worker.status === 'TERMINATED') return impossible(`is TERMINATED: ${failureOf(worker)}`)
  if (worker.desired_status !== goal.status) return impossible(changedMind(worker))
  if (worker.status === 'FAILED') return judgeFailed(worker, goal)
  if (goal.status === 'STOPPED' && worker.status === 'PENDING' && holds(worker.conditions, CONDITION.held))
    return reached
  return underWay
}

/** A FAILED worker can still be terminated, or stopped if it has a machine, but not started. */
function judgeFailed(worker: Worker, goal: Goal): Verdict {
  const isOld = worker.entered_status_at === goal.failedSince
  const canLeave = goal.status === 'TERMINATED' || (goal.status === 'STOPPED' && worker.ec2_instance_id !== null)
  return isOld && canLeave ? underWay : impossible(`has FAILED: ${failureOf(worker)}`)
}

const changedMind = ({ desired_by, desired_status, desired_reason }: Worker): string =>
  `has a new desired status ${desired_status}, set by ${desired_by}${desired_reason === '' ? '' : ` (${desired_reason})`}`

/** What to wait for until a worker has its desired status. */
export function waitedWorker(start: Worker): Waited<Worker> {
  const goal = goalFor(start)
  return {
    start,
    noun: 'worker',
    name: start.name,
    handle: shellWord(start.name),
    mayVanish: goal.status === 'TERMINATED',
    read: (client, signal) => client.call('getWorker', { params: { id: start.id }, signal }),
    changed: WORKERS.changed,
    deleted: WORKERS.deleted,
    judge: worker => judge(worker, goal),
    progressText,
  }
}

function progressText(worker: Worker): string {
  const waits = waitsFor(worker)
  return `${worker.name} is ${worker.status}${waits === '' ? ` and will be ${worker.desired_status}` : `: ${waits}`}`
}

export const WORKER_SETTLING: Settling<Worker> = {
  view: WORKERS.view,
  waited: waitedWorker,
  outcome: (worker, elapsed) => ({ sentence: sentenceOf(worker, elapsed), lines: [] }),
}

function sentenceOf(worker: Worker, elapsed: string): string {
  const more = printable(waitsFor(worker)) || (worker.status === 'RUNNING' ? worker.https_endpoint : null)
  return `${worker.name} is ${worker.status} after ${elapsed}${more ? `: ${more}` : ''}`
}
