import { toMs } from '@lcm/domain/instant'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Clock } from '@lcm/runtime/clock'
import type { Disturbances } from '../../world/disturbances.ts'
import { MINUTE_MS } from '../../world/durations.ts'
import type { EventFollower } from '../../world/event-follower.ts'
import type { OwnerChanges } from '../../world/owner-changes.ts'
import { heldTimes } from '../held-times.ts'
import type { LabTruth } from './lab-truth.ts'

/** Time for a new leader, a few polls and failing CML calls. */
const STOPPED_MS_MAX = 15 * MINUTE_MS
/** LCM may not know yet that the owner has stopped a lab when its machine goes down, or has not yet started it again. */
const UNSEEN_MS = 3 * MINUTE_MS

export interface AgainstOwnerParts extends Pick<RunningLabParts, 'ownerChanges' | 'truthOf'> {
  readonly disturbances: Disturbances
  sightLostMs(session: string): number
}

export interface RunningLabParts {
  readonly following: Pick<EventFollower, 'workers' | 'sessions'>
  readonly clock: Pick<Clock, 'now'>
  readonly ownerChanges: OwnerChanges
  truthOf(session: LabletSession): LabTruth
}

/**
 * While the machine runs and its CML serves LCM, the lab of a session in its time slot runs, unless its owner stopped it. Returns the
 * sessions whose lab stays stopped; a failed start is reported to its owner, who may request another.
 */
export function stoppedLabs({ following, clock, ownerChanges, truthOf }: RunningLabParts): () => string[] {
  const heldMs = heldTimes(clock)

  function isStopped(session: LabletSession): boolean {
    if (!isInSlot(session, clock.now()) || isStartFailed(session)) return false
    const worker = following.workers.get(session.worker_id ?? '')
    if (worker?.desired_status !== 'RUNNING') return false
    const { isServed, lab, isLabUp, isUnseenRestart } = truthOf(session)
    if (isUnseenRestart) return false
    return isServed === true && lab !== null && !isLabUp && !ownerChanges.stops.has(lab.id)
  }

  return () =>
    [...following.sessions.values()]
      .filter(session => heldMs(session.id, isStopped(session)) > STOPPED_MS_MAX)
      .map(({ id }) => `the lab of ${id} stays stopped although its machine runs`)
}

const isInSlot = ({ status, desired_status, timeslot }: LabletSession, nowMs: number): boolean =>
  isUp(status) && desired_status === 'RUNNING' && toMs(timeslot.start) <= nowMs && nowMs < toMs(timeslot.end)

const isStartFailed = ({ pipeline }: LabletSession): boolean =>
  Object.values(pipeline?.steps ?? {}).some(({ status }) => status === 'failed')

/** Since when the CML of each session was last unable to serve LCM, or LCM took it for unavailable; it may serve again since. */
export function lostSight({ following, clock, truthOf }: Omit<RunningLabParts, 'ownerChanges'>) {
  const periods = new Map<string, { readonly fromMs: number; isOpen: boolean }>()
  return {
    sinceMs: (session: string): number => periods.get(session)?.fromMs ?? 0,
    step(): string[] {
      for (const session of following.sessions.values()) {
        const period = periods.get(session.id)
        const isAvailable = following.workers.get(session.worker_id ?? '')?.service_status === 'AVAILABLE'
        const isOpen = session.worker_id !== null && !(isAvailable && truthOf(session).isServed === true)
        if (isOpen && !period?.isOpen) periods.set(session.id, { fromMs: clock.now(), isOpen })
        else if (period !== undefined) period.isOpen = isOpen
      }
      return []
    },
  }
}

/** A lab that its owner stopped, while it ran well, is not started by LCM. */
export function startedAgainstOwner(
  session: LabletSession,
  labId: string,
  { ownerChanges, truthOf, sightLostMs, disturbances }: AgainstOwnerParts,
): string[] {
  const stop = ownerChanges.stops.get(labId)
  if (stop === undefined || !stop.isKnown) return []
  const { downMs } = truthOf(session)
  const isUncounted = stop.isFromInside && disturbances.happened('fault', stop.atMs - UNSEEN_MS, stop.atMs + UNSEEN_MS)
  const mayStart = isUncounted || [downMs, sightLostMs(session.id)].some(ms => Math.abs(ms - stop.atMs) < UNSEEN_MS)
  if (mayStart) ownerChanges.stops.delete(labId)
  return mayStart ? [] : [`the lab of ${session.id} is started after its owner stopped it`]
}
