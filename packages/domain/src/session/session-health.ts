import { degraded, down, HEALTHY, type Health } from '../health.ts'
import { type Instant, toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { isUp, LAB_STOPPED, type LabletSession, type SessionStatus, WORKER_UNAVAILABLE } from './lablet-session.ts'
import { positionIn } from './pipeline-position.ts'
import { unschedulableBecause } from './unschedulable-reason.ts'

const MINUTE_MS = 60_000
/** Even a session that was booked for now needs a moment to be placed. */
const UNPLACED_MS = 2 * MINUTE_MS
/** A lab that is placed has begun to boot. */
const BOOTING_MS = 10 * MINUTE_MS

/** Whether its owner can use the session, from its record alone, so that every reader says the same. */
export function sessionHealth(session: LabletSession, nowMs: number): Health {
  if (session.desired_status === 'TERMINATED') return HEALTHY
  switch (session.status) {
    case 'PENDING':
    case 'SCHEDULED':
    case 'INSTANTIATING':
      return healthWithoutLab(session, nowMs)
    case 'READY':
    case 'RUNNING':
      return healthOfLab(session)
    default:
      return HEALTHY
  }
}

/** Since when a session that had a lab is without it, because it was moved; null if it was not moved. */
export function movedAt({ state_history }: Pick<LabletSession, 'state_history'>): Instant | null {
  const last = state_history.findLast(change => change.to === 'READY' || isMove(change))
  return last !== undefined && last.to === 'PENDING' ? last.at : null
}

type Move = Pick<LabletSession['state_history'][number], 'from' | 'to'>

/** Whether the session lost its lab, to get another one elsewhere. */
export const isMove = ({ from, to }: Move): boolean => to === 'PENDING' && isUp(from)

function healthWithoutLab(session: LabletSession, nowMs: number): Health {
  const { status, waiting_reason, timeslot, created_at, entered_status_at } = session
  const moved = movedAt(session)
  if (moved !== null) return down(waiting_reason ?? reason('session_starts_elsewhere'), moved)
  if (status === 'PENDING' && unschedulableBecause(waiting_reason) !== null && waiting_reason !== null)
    return down(waiting_reason, entered_status_at)
  const neededMs = Math.max(toMs(timeslot.start), toMs(created_at))
  const position = positionIn(session)
  if (status !== 'PENDING') {
    if (nowMs < neededMs + BOOTING_MS) return HEALTHY
    const step = position?.step.name ?? null
    return degraded(reason('lab_start_late', { step, error: position?.step.error ?? null }), timeslot.start)
  }
  if (nowMs < neededMs + UNPLACED_MS) return HEALTHY
  return down(waiting_reason ?? reason('waiting_for_placement'), toInstant(neededMs))
}

/** A silent CML may still run the lab, and a lab that its owner stopped can be started again. */
const MAY_WORK: ReadonlySet<string> = new Set(['lab_state_unknown', 'lab_stopped_on_cml'])

/** A dead machine explains a stopped lab, so it comes first. A lab that runs may lack nodes that did not boot again. */
function healthOfLab(session: LabletSession): Health {
  const { conditions, entered_status_at } = session
  for (const type of [WORKER_UNAVAILABLE, LAB_STOPPED]) {
    const found = conditions.find(condition => condition.type === type && condition.status)
    if (found !== undefined) return (MAY_WORK.has(found.reason.code) ? degraded : down)(found.reason, found.since)
  }
  const step = positionIn(session)?.step
  // A lab that runs although LCM could not start it was started by a person.
  if (step === undefined || (step.name === 'lab_start' && step.status === 'failed')) return HEALTHY
  return degraded(
    reason('lab_incomplete', { error: step.error }),
    step.ended_at ?? step.started_at ?? entered_status_at,
  )
}

const ENDED: ReadonlySet<SessionStatus> = new Set<SessionStatus>(['EXPIRED', 'STOPPING', 'TERMINATED'])

interface Loss {
  readonly at: Instant
  readonly because: Reason
  /** False if it never had a lab. */
  readonly hadLab: boolean
}

type Ended = Pick<LabletSession, 'desired_status' | 'state_history' | 'timeslot'>

/** When and why a session ended without a request: early, or without ever having a lab. Null if it was not lost. */
export function lostSession({ desired_status, state_history, timeslot }: Ended): Loss | null {
  if (desired_status === 'TERMINATED') return null
  const end = state_history.find(({ to }) => ENDED.has(to))
  if (end === undefined) return null
  const { at, because } = end
  if (isUp(end.from) && toMs(at) >= toMs(timeslot.end)) return null
  return { at, because, hadLab: state_history.some(({ to }) => to === 'READY') }
}
