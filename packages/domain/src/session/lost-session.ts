import { type Instant, toMs } from '../instant.ts'
import type { Reason } from '../reason.ts'
import type { LabletSession, SessionStatus } from './lablet-session.ts'

const UP: ReadonlySet<SessionStatus | null> = new Set<SessionStatus | null>(['READY', 'RUNNING'])
const ENDED: ReadonlySet<SessionStatus> = new Set<SessionStatus>(['EXPIRED', 'STOPPING', 'TERMINATED'])

interface Loss {
  readonly at: Instant
  readonly because: Reason
  /** False if it never had a lab. */
  readonly hadLab: boolean
}

type Ended = Pick<LabletSession, 'desired_status' | 'state_history' | 'timeslot'>

/** When and why a session ended although nobody asked for it: early, or without ever having a lab. Null if it was not lost. */
export function lostSession({ desired_status, state_history, timeslot }: Ended): Loss | null {
  if (desired_status === 'TERMINATED') return null
  const end = state_history.find(({ to }) => ENDED.has(to))
  if (end === undefined) return null
  const { at, because } = end
  if (UP.has(end.from) && toMs(at) >= toMs(timeslot.end)) return null
  return { at, because, hadLab: state_history.some(({ to }) => to === 'READY') }
}
