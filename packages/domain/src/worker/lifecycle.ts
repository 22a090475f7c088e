import { EC2_STATES, type Ec2State } from './instance.ts'
import { DesiredStatus, type WorkerStatus } from './worker.ts'

/** Where a worker may go from each status. The API refuses everything else at the write. */
const MOVES: Readonly<Record<WorkerStatus, readonly WorkerStatus[]>> = {
  PENDING: ['PROVISIONING', 'FAILED', 'TERMINATED'],
  PROVISIONING: ['STARTING', 'STOPPING', 'TERMINATING', 'FAILED', 'PENDING', 'STOPPED', 'TERMINATED', 'UNKNOWN'],
  STARTING: ['RUNNING', 'STOPPING', 'TERMINATING', 'FAILED', 'STOPPED', 'TERMINATED', 'UNKNOWN'],
  RUNNING: ['DRAINING', 'STOPPING', 'TERMINATING', 'FAILED', 'STARTING', 'STOPPED', 'TERMINATED', 'UNKNOWN'],
  DRAINING: ['STOPPING', 'TERMINATING', 'RUNNING', 'FAILED', 'STARTING', 'STOPPED', 'TERMINATED', 'UNKNOWN'],
  STOPPING: ['STOPPED', 'TERMINATING', 'TERMINATED', 'FAILED', 'UNKNOWN'],
  STOPPED: ['STARTING', 'RUNNING', 'TERMINATING', 'TERMINATED', 'UNKNOWN'],
  TERMINATING: ['TERMINATED', 'FAILED', 'UNKNOWN'],
  FAILED: ['PENDING', 'STARTING', 'STOPPING', 'STOPPED', 'RUNNING', 'TERMINATING', 'TERMINATED', 'UNKNOWN'],
  UNKNOWN: ['PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'TERMINATING', 'TERMINATED'],
  TERMINATED: [],
}

export const movesFrom = (from: WorkerStatus): readonly WorkerStatus[] => MOVES[from]
export const canMove = (from: WorkerStatus, to: WorkerStatus): boolean => MOVES[from].includes(to)

/** Statuses that a worker passes through: each has a deadline, and none is rest. */
export const isTransitional = (status: WorkerStatus): boolean =>
  status === 'PENDING' ||
  status === 'PROVISIONING' ||
  status === 'STARTING' ||
  status === 'DRAINING' ||
  status === 'STOPPING' ||
  status === 'TERMINATING'

const SERVING: Readonly<Record<DesiredStatus, readonly string[]>> = {
  RUNNING: ['PENDING', 'PROVISIONING', 'STARTING', 'RUNNING', 'DRAINING', 'FAILED', 'UNKNOWN'],
  STOPPED: ['STOPPING', 'STOPPED'],
  TERMINATED: ['TERMINATING', 'TERMINATED'],
}

/** Nothing serves the wish yet: its author waits for a first sign that it was heard. Hints hold words of other versions too. */
export function isWishUnserved(status: string, desired: string): boolean {
  const wish = DesiredStatus.safeParse(desired)
  return wish.success && !SERVING[wish.data].includes(status)
}

const STATUS_BY_EC2_STATE: Readonly<Record<Ec2State, WorkerStatus>> = {
  pending: 'PROVISIONING',
  running: 'RUNNING',
  stopping: 'STOPPING',
  stopped: 'STOPPED',
  'shutting-down': 'TERMINATING',
  terminated: 'TERMINATED',
}

const isEc2State = (state: string): state is Ec2State => (EC2_STATES as readonly string[]).includes(state)

/** A worker that has run before is starting again, not being provisioned, when EC2 says `pending`. */
export function statusOfEc2State(state: string, hasRunBefore: boolean): WorkerStatus {
  if (!isEc2State(state)) return 'UNKNOWN'
  if (state === 'pending' && hasRunBefore) return 'STARTING'
  return STATUS_BY_EC2_STATE[state]
}
