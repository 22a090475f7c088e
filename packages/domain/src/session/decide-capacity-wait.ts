import { type LedgerTime, ledgerTime } from '../calendar/worker-ledger.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { blockedSinceOf, WORKER_LOST_MS, workerLost } from '../worker/worker-loss.ts'
import { expectedCapacity } from './free-capacity.ts'
import { isRead, refusalOf } from './placement.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-types.ts'
import { type CapacityByWorker, capacitiesFor, take, type Waiting } from './waiting-session.ts'

/** How long a new machine takes until labs can be placed on it. */
export const WORKER_BOOT_MS = 20 * 60_000

/**
 * Decides what unplaced sessions wait for: booting workers, which cost nothing more; then a stopped worker that can be started; then
 * a booting worker that is stuck. `left` are the sessions that need a new machine.
 */
export function waitsForCapacity(
  unplaced: readonly Waiting[],
  capacities: CapacityByWorker,
  input: SchedulingInput,
): { waits: SchedulingStep[]; left: Waiting[] } {
  const waits: SchedulingStep[] = []
  const left: Waiting[] = []
  const workers = [...capacities.values()].map(({ worker }) => worker)
  const arriving = workers.filter(worker => isArriving(worker, input.nowMs))
  const time = ledgerTime(input.nowMs, input.timings)
  const onSchedule = expected(
    arriving.filter(worker => !isStuck(worker, input.nowMs)),
    time,
  )
  const stuck = expected(
    arriving.filter(worker => isStuck(worker, input.nowMs)),
    time,
  )
  const stopped = expected(
    workers.filter(worker => isResumable(worker, input.nowMs)),
    time,
  )
  const resumed = new Map<string, string[]>()
  const wait = ({ session }: Waiting, because: Reason) => waits.push({ kind: 'wait', session, because, forGood: false })
  for (const each of unplaced) {
    const early = takeFirst(onSchedule, each)
    const resumable = early === null ? takeFirst(stopped, each) : null
    const awaited = early ?? (resumable === null ? takeFirst(stuck, each) : null)
    if (awaited !== null) wait(each, arrivalOf(capacities.get(awaited.id)?.worker ?? awaited))
    else if (resumable !== null) {
      resumed.set(resumable.id, [...(resumed.get(resumable.id) ?? []), each.session.id])
      wait(each, reason('waiting_for_resume', { worker: resumable.name }))
    } else left.push(each)
  }
  for (const [worker_id, session_ids] of resumed)
    waits.push({
      kind: 'resume',
      worker_id,
      session_ids,
      because: reason('no_capacity_for_sessions', { sessions: session_ids.length }),
    })
  return { waits, left }
}

/** Starts and stops that take longer than this wait for something else, such as EC2 capacity. */
const POWER_MS_MAX = 30 * 60_000

/**
 * Whether a worker is requested to run and not fully available yet. A worker that is lost or does not start is not waited for: a
 * new one may start. A worker without its license or node definitions counts: a new one would wait for them too.
 */
export function isArriving(worker: Worker, nowMs: number): boolean {
  if (worker.desired_status !== 'RUNNING') return false
  const forMs = nowMs - toMs(worker.entered_status_at)
  switch (worker.status) {
    case 'RUNNING':
      return worker.service_status === 'AVAILABLE'
        ? isUnlicensed(worker) || (!isRead(worker) && isLicensed(worker))
        : workerLost(worker, nowMs) === null
    case 'PENDING':
    case 'PROVISIONING':
      return true
    case 'STARTING':
    case 'STOPPING':
      return forMs < POWER_MS_MAX && workerLost(worker, nowMs) === null
    case 'STOPPED':
      return Math.min(forMs, nowMs - resumedMs(worker)) < WORKER_LOST_MS
    case 'UNKNOWN':
      return forMs < WORKER_LOST_MS
    default:
      return false
  }
}

/** A worker is stuck if EC2 has no capacity for it, or its license was refused and is not retried. */
export function isStuck(worker: Worker, nowMs: number): boolean {
  const { status, pending_operation } = worker.license
  const blockedSince = blockedSinceOf(worker)
  const isBlocked = blockedSince !== null && nowMs - toMs(blockedSince) >= WORKER_LOST_MS
  return isBlocked || (worker.status === 'RUNNING' && status === 'FAILED' && pending_operation === null)
}

/** When the worker was last requested to run. */
const resumedMs = ({ pause, created_at }: Worker): number => toMs(pause.last_resumed_at ?? created_at)

const isUnlicensed = ({ license }: Worker): boolean =>
  license.product !== null && license.status !== 'REGISTERED' && license.pending_operation !== 'deregister'

/** Whether the worker has its license, if it should have one. */
const isLicensed = ({ license }: Worker): boolean => license.product === null || license.status === 'REGISTERED'

/** The reason to wait for an arriving worker. */
function arrivalOf(worker: Worker): Reason {
  const { name, status, service_status, license } = worker
  if (status !== 'RUNNING' || service_status !== 'AVAILABLE') return reason('waiting_for_worker', { worker: name })
  return isUnlicensed(worker)
    ? reason('waiting_for_license', { worker: name, license_status: license.status })
    : reason('waiting_for_node_definitions', { worker: name })
}

/** Stopped by a policy, or by a user until a time that has passed. Any other stop by a user holds until a user starts it. */
export const isResumable = ({ status, desired_status, desired_until, pause }: Worker, nowMs: number): boolean =>
  (status === 'STOPPED' || status === 'STOPPING') &&
  desired_status === 'STOPPED' &&
  (pause.reason !== null || (desired_until !== null && toMs(desired_until) <= nowMs))

/**
 * The workers as they will be when they are available, the cheapest first. Sessions are found to fit where the purchase packed
 * them, so nothing is bought for them again.
 */
function expected(workers: readonly Worker[], time: LedgerTime): CapacityByWorker {
  const inOrder = workers.toSorted(
    (a, b) =>
      priceOf(a) - priceOf(b) ||
      compare(a.template_name, b.template_name) ||
      compare(a.created_at, b.created_at) ||
      compare(a.id, b.id),
  )
  return new Map(inOrder.map(worker => [worker.id, expectedCapacity(worker, time)]))
}
/** An unknown price counts as the highest. */
const priceOf = ({ cost_per_hour_usd }: Worker): number => cost_per_hour_usd ?? Number.MAX_VALUE
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** First fit, as new machines are packed. */
function takeFirst(capacities: CapacityByWorker, waiting: Waiting): Worker | null {
  for (const capacity of capacitiesFor(waiting, capacities)) {
    if (refusalOf(waiting.demand, capacity) !== null) continue
    take(capacities, capacity, waiting)
    return capacity.worker
  }
  return null
}
