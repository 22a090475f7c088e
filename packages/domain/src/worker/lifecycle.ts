import type { SettingValues } from '../fleet/settings.ts'
import { type Instant, toMs } from '../instant.ts'
import type { ScalingOutcome } from '../journal-records.ts'
import { type Reason, reason } from '../reason.ts'
import { drainIsOver, endOf } from './decision/drain.ts'
import { EC2_STATES, type Ec2State } from './ec2-instance.ts'
import { needsApproval } from './instance-trust.ts'
import { DesiredStatus, type Worker, type WorkerStatus } from './worker.ts'

/** The allowed transitions. The API refuses all others at the write. */
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

/** Whether no controller has acted on the request yet. Change hints may have statuses of other versions. */
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

/** Policies that set a desired status, as `desired_by`. */
export const POLICY = {
  external: 'external stop',
  owner: 'owner of the machine',
  cleanUp: 'clean-up',
  idle: 'idle',
  resume: 'resume_for_session',
  calendar: 'calendar',
} as const

export interface Consequence {
  readonly worker: Worker
  readonly outcome: ScalingOutcome | null
}

/**
 * Changes the desired status where a report calls for it: a drain that is over, an accepted stop outside LCM, a scale-up that
 * never ran. It is part of the same write, so that no reader sees one without the other. Null: the report is refused.
 */
export function consequenceOf(
  before: Worker,
  after: Worker,
  settings: Pick<SettingValues, 'external_stop'>,
  now: Instant,
): Consequence | null {
  const isWantedRunning = before.desired_status === 'RUNNING'
  if (before.status === 'DRAINING' && isLeaving(after) && before.drain !== null && isWantedRunning) {
    if (drainIsOver(before, before.drain, toMs(now)) === null)
      return lostItsMachine(before, after) ? { worker: after, outcome: null } : null
    const { by, reason: words, policy } = before.drain
    const worker = { ...wanted(after, endOf(before, before.drain), { by, reason: words }), drain: null }
    const isPerson = policy === undefined
    return { worker: isPerson ? worker : paused(worker, reason('worker_idle'), now), outcome: 'drained' }
  }
  const owned = needsApproval(after) ? wantedByOwner(before, after) : null
  if (owned !== null) return { worker: owned, outcome: null }
  if (isWantedRunning && wasUp(before) && after.status === 'STOPPED' && settings.external_stop === 'accept') {
    const why = reason('stopped_outside_lcm')
    const worker = wanted(after, 'STOPPED', { by: POLICY.external, reason: why.message })
    return { worker: paused({ ...worker, drain: null }, why, now), outcome: null }
  }
  if (isWantedRunning && before.status === 'FAILED' && after.status === 'TERMINATING' && before.origin === 'SCALE_UP') {
    const why = reason('scale_up_never_ran').message
    return { worker: wanted(after, 'TERMINATED', { by: POLICY.cleanUp, reason: why }), outcome: null }
  }
  return { worker: after, outcome: null }
}

/** Until a machine is approved, its owner decides whether it runs: LCM neither restarts nor stops it for what it finds. */
function wantedByOwner(before: Worker, after: Worker): Worker | null {
  if (before.desired_status === 'RUNNING' && wasUp(before) && after.status === 'STOPPED')
    return wanted(after, 'STOPPED', { by: POLICY.owner, reason: reason('stopped_outside_lcm').message })
  const isUp = after.status === 'RUNNING' || after.status === 'STARTING'
  if (before.desired_status === 'STOPPED' && before.status === 'STOPPED' && isUp)
    return wanted(after, 'RUNNING', { by: POLICY.owner, reason: 'the instance was started outside LCM' })
  return null
}

/** EC2 reports its instance as terminating: that ends no drain, and the report can't be refused. */
const lostItsMachine = (before: Worker, after: Worker): boolean =>
  before.https_endpoint !== null && after.https_endpoint === null
const isLeaving = ({ status }: Worker): boolean => status === 'STOPPING' || status === 'TERMINATING'
const wasUp = ({ status }: Worker): boolean => status === 'RUNNING' || status === 'DRAINING' || status === 'STARTING'

const wanted = (worker: Worker, desired_status: DesiredStatus, why: { by: string; reason: string }): Worker => ({
  ...worker,
  desired_status,
  desired_by: why.by,
  desired_reason: why.reason,
  desired_until: null,
})

/** Stopped by a policy; `start` undoes it. */
export const paused = (worker: Worker, why: Reason, now: Instant): Worker => ({
  ...worker,
  pause: {
    ...worker.pause,
    reason: why,
    by: worker.desired_by,
    last_paused_at: now,
    counts: { ...worker.pause.counts, auto: worker.pause.counts.auto + 1 },
  },
})

/** How often a worker has failed since it last ran. */
export function failuresAfter(before: Worker, status: Worker['status']): number {
  if (status === 'RUNNING') return 0
  return before.failures + (status === 'FAILED' && before.status !== 'FAILED' ? 1 : 0)
}
