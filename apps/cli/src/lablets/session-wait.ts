import { toMs } from '@lcm/domain/instant'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { SESSIONS } from '../kinds.ts'
import type { Settling } from '../settle.ts'
import { impossible, reached, underWay, type Verdict, WAIT_MS_DEFAULT, type Waited } from '../wait.ts'
import { accessLines, distanceOf, waitsFor } from './session-view.ts'

type Goal = LabletSession['desired_status']

/** Whether people can get into its lab, or, where it was cancelled, whether all of it is gone. */
export function judge(session: LabletSession, goal: Goal): Verdict {
  const { status, desired_status, desired_by } = session
  if (goal === 'TERMINATED') return isFinal(status) ? reached : underWay
  if (desired_status !== goal) return impossible(`will not get there: ${desired_by} cancelled it`)
  switch (status) {
    case 'READY':
    case 'RUNNING':
      return reached
    case 'PENDING':
    case 'SCHEDULED':
    case 'INSTANTIATING':
      return underWay
    default:
      return impossible(`is ${status}: ${endOf(session)}`)
  }
}

const endOf = ({ last_error, state_history }: LabletSession): string =>
  last_error ?? state_history.at(-1)?.because ?? 'no reason is recorded'

/** A session, until its lab is up, or gone where it was cancelled. */
export function waitedSession(start: LabletSession): Waited<LabletSession> {
  const goal = start.desired_status
  return {
    start,
    noun: 'session',
    name: `session ${start.id}`,
    handle: start.id,
    mayVanish: goal === 'TERMINATED',
    read: (client, signal) => client.call('getSession', { params: { id: start.id }, signal }),
    changed: SESSIONS.changed,
    deleted: SESSIONS.deleted,
    judge: session => judge(session, goal),
    progressText,
  }
}

function progressText(session: LabletSession): string {
  const waits = waitsFor(session)
  const more = waits === '' ? ` and will be ${session.desired_status}` : `: ${waits}`
  return `session ${session.id} is ${session.status}${more}`
}

export const SESSION_SETTLING: Settling<LabletSession> = {
  view: SESSIONS.view,
  waited: waitedSession,
  outcome(session, elapsed, nowMs) {
    const head = `session ${session.id} is ${session.status} after ${elapsed}`
    if (isFinal(session.status)) return { sentence: head, lines: [] }
    const lines = accessLines(session)
    const { start, end } = session.timeslot
    const begins = toMs(start) > nowMs ? `it begins ${distanceOf(start, nowMs)} and ` : 'it '
    const doors = lines.length === 0 ? '; its lab opens no ports' : ''
    return { sentence: `${head}: ${begins}ends ${distanceOf(end, nowMs)}${doors}`, lines }
  },
}

/** Timers can't be longer. */
const PATIENCE_MS_MAX = 24 * 24 * 3_600_000

/** Its lab is started shortly before its slot, however far away that is. */
export const patienceFor = ({ timeslot }: LabletSession, nowMs: number): number =>
  Math.min(PATIENCE_MS_MAX, Math.max(0, toMs(timeslot.start) - nowMs) + WAIT_MS_DEFAULT)
