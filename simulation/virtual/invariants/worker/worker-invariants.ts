import { isUp, nodeStateAt } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import type { Worker } from '@lcm/domain/worker/worker'
import { illegalMovesOfWorker } from '@lcm/testkit/transition-rules'
import { MINUTE_MS } from '../../world/durations.ts'
import type { OwnerChanges } from '../../world/owner-changes.ts'
import { CML_LOGIN } from '../../world/planted-secrets.ts'
import type { RequestedState } from '../requested-state-record.ts'
import type { TrustRecord } from '../secret/trust-record.ts'
import { UPDATE_MS } from '../settings-history.ts'
import { isStoppedAsIdle } from './idle-stop-predicate.ts'
import { isReportedRefused, refusesLogin } from './unreported-login-refusals.ts'

/** The first failure and all retries of the policy. */
const FAILURES_MAX = 4

/** Two polls, and a new leader between them. */
const UNSEEN_MS = 5 * MINUTE_MS

export interface WorkerInvariantParts {
  readonly cloud: SimModel
  readonly fleet: string
  readonly workers: ReadonlyMap<string, Worker>
  readonly sessions: ReadonlyMap<string, LabletSession>
  readonly requested: RequestedState
  readonly ownerChanges: Pick<OwnerChanges, 'startedMs'>
  readonly trust: Pick<TrustRecord, 'isConfirmed'>
  now(): number
  violated(rule: string): void
  /** The last use of that machine by a user. */
  usedMs(machine: string): number
}

export interface WorkerInvariants {
  /** Called with each version before it is recorded as the latest. */
  worker(worker: Worker, before: Worker | undefined): void
}

/** Rules for each new version of a worker. */
export function workerInvariants(parts: WorkerInvariantParts): WorkerInvariants {
  /** Workers stopped a moment ago by something other than the policy, which may not have seen it yet. */
  const leftMs = new Map<string, number>()
  const isRunning = ({ status, desired_status, drain }: Worker) =>
    status === 'RUNNING' && desired_status === 'RUNNING' && drain === null

  /** The idle policy respects settings, user requests and use. */
  function wrongPauses(worker: Worker, before: Worker): string[] {
    const nowMs = parts.now()
    const minimum = parts.requested.settings.minimumAt('min_workers', nowMs)
    const idleMs = parts.requested.settings.minimumAt('idle_timeout_seconds', nowMs) * 1000 - MINUTE_MS
    const others = [...parts.workers.values()].filter(
      each => each.id !== worker.id && (isRunning(each) || nowMs - (leftMs.get(each.id) ?? 0) < UPDATE_MS),
    )
    const ran = worker.state_history.findLast(({ to }) => to === 'RUNNING')
    const usedMs = lastUseMs(worker, parts)
    const isByCalendar = mayFollowCalendar(before, parts)
    const violationIf = (isWrong: boolean, rule: string) => (isWrong ? [`${worker.name} is paused ${rule}`] : [])
    return [
      ...violationIf(others.length < minimum, `while ${others.length} others run; the minimum is ${minimum}`),
      ...violationIf(
        !isByCalendar && nowMs - usedMs < idleMs,
        `${Math.round((nowMs - usedMs) / MINUTE_MS)} min after its last use`,
      ),
      ...violationIf(
        !isByCalendar && ran !== undefined && nowMs - toMs(ran.at) < idleMs,
        'too soon after it started to run',
      ),
      ...violationIf(
        before.desired_until !== null && toMs(before.desired_until) - UPDATE_MS > nowMs,
        'before the time that a user set',
      ),
      ...violationIf(isReportedRefused(before) && refusesLogin(parts.cloud, before), 'though its CML refuses LCM'),
      ...violationIf(before.protected, 'though it is protected'),
      ...violationIf(!before.idle_detection_enabled, 'though that is off for it'),
    ]
  }

  return {
    worker(worker, before) {
      const isLeaving = before !== undefined && isRunning(before) && !isRunning(worker)
      const isPaused = before !== undefined && isStoppedAsIdle(worker, before)
      const rules = [
        ...illegalMovesOfWorker(worker),
        ...parts.requested.neverRequested(worker),
        ...endlessRetries(worker, parts.requested.lastTouchedMs(worker.id)),
        ...(before === undefined ? foreignMachine(worker, parts) : []),
        ...(isPaused ? wrongPauses(worker, before) : []),
        ...(before === undefined
          ? []
          : [
              ...placedOnClosedWorker(worker, before),
              ...freedTooEarly(worker, before, parts),
              ...ownWorkAsUse(worker, before, parts),
              ...pinRenewed(worker, before, parts),
            ]),
      ]
      if (isLeaving && !isPaused) leftMs.set(worker.id, parts.now())
      for (const rule of rules) parts.violated(rule)
    },
  }
}

/** A worker that only sessions used since the last one may be stopped as soon as the plan says so. */
function mayFollowCalendar(
  { activity, created_at, origin, ec2_instance_id }: Worker,
  { requested, usedMs, now }: WorkerInvariantParts,
): boolean {
  const known = activity.sessions_until ?? (origin === 'SCALE_UP' ? created_at : null)
  const isCalendar = requested.settings.valuesAt('idle_action', now()).includes('calendar')
  return isCalendar && known !== null && usedMs(ec2_instance_id ?? '') <= toMs(known)
}

/** No worker is retried endlessly without a user request. */
function endlessRetries({ name, state_history }: Worker, touchedMs: number): string[] {
  const lastRun = state_history.findLastIndex(({ to }) => to === 'RUNNING')
  const failures = state_history.filter(({ to, at }, n) => to === 'FAILED' && n > lastRun && toMs(at) > touchedMs)
  return failures.length > FAILURES_MAX ? [`${name} is retried endlessly`] : []
}

/** When a person last used a worker, or a session on it ended. */
const lastUseMs = ({ id, ec2_instance_id }: Worker, { sessions, usedMs }: WorkerInvariantParts): number =>
  Math.max(
    usedMs(ec2_instance_id ?? ''),
    ...[...sessions.values()].filter(({ worker_id }) => worker_id === id).map(endMs),
  )

function endMs({ state_history, timeslot }: LabletSession): number {
  const stopping = state_history.findLast(({ to }) => to === 'STOPPING')
  return stopping === undefined ? Number.NEGATIVE_INFINITY : Math.min(toMs(stopping.at), toMs(timeslot.end))
}

/** Actions of LCM itself don't count as use. */
function ownWorkAsUse(worker: Worker, before: Worker, parts: WorkerInvariantParts): string[] {
  const { last_activity_at: at } = worker.activity
  if (at === null || at === before.activity.last_activity_at || toMs(at) <= lastUseMs(worker, parts)) return []
  if (hasLabOfPeople(worker, parts)) return []
  return [`${worker.name} was last used at ${at}, by no user and no session`]
}

/** A user's own lab causes activity after the user has left. */
function hasLabOfPeople({ ec2_instance_id }: Worker, { cloud }: WorkerInvariantParts): boolean {
  const context = cloud.cml.contextOf(ec2_instance_id ?? '')
  const admin = context?.server.users.find(({ username }) => username === CML_LOGIN.username)
  return context?.labs.some(({ owner }) => owner !== admin?.id) ?? false
}

/** Only an operator replaces a pinned certificate. */
function pinRenewed({ id, name, cml }: Worker, before: Worker, { trust }: WorkerInvariantParts): string[] {
  const [was, is] = [before.cml.certificate_sha256, cml.certificate_sha256]
  if (was === null || was === is || (is !== null && trust.isConfirmed(id, is))) return []
  return [`the pinned certificate of ${name} changed, and no operator confirmed the new one`]
}

/** A machine of another fleet never becomes a worker. */
function foreignMachine({ name, origin, ec2_instance_id }: Worker, { cloud, fleet }: WorkerInvariantParts): string[] {
  if (origin !== 'DISCOVERY' || ec2_instance_id === null) return []
  const owner = cloud.machine(ec2_instance_id)?.tags[TAG.fleet]
  return owner !== undefined && owner !== fleet ? [`${name} is a machine of ${owner}`] : []
}

/** Workers that are draining or terminating get no new sessions. */
function placedOnClosedWorker(worker: Worker, before: Worker): string[] {
  const isClosed =
    (before.drain !== null && before.drain.requested_at === worker.drain?.requested_at) ||
    (before.cordoned && worker.cordoned && before.updated_at !== worker.updated_at)
  if (!isClosed) return []
  const added = Object.keys(worker.reservations).filter(id => before.reservations[id] === undefined)
  return added.map(id => `${id} was placed on ${worker.name}, which accepts no sessions`)
}

/** Capacity is released only after the lab that used it has stopped. LCM needs a poll to see that its owner started it again. */
function freedTooEarly(worker: Worker, before: Worker, { cloud, ownerChanges, now }: WorkerInvariantParts): string[] {
  const freed = Object.keys(before.reservations).filter(id => worker.reservations[id] === undefined)
  if (freed.length === 0 || worker.ec2_instance_id === null) return []
  if (cloud.machine(worker.ec2_instance_id)?.state !== 'running') return []
  const labs = cloud.cml.contextOf(worker.ec2_instance_id)?.labs ?? []
  const isUnseen = (lab: string) => now() - (ownerChanges.startedMs.get(lab) ?? Number.NEGATIVE_INFINITY) < UNSEEN_MS
  const isUsed = (id: string) =>
    labs.some(
      ({ id: lab, title, nodes }) =>
        !isUnseen(lab) && title.endsWith(` ${id}`) && nodes.some(node => isUp(nodeStateAt(node, now()))),
    )
  return freed.filter(isUsed).map(id => `${worker.name} released the capacity of ${id} while its lab runs`)
}
