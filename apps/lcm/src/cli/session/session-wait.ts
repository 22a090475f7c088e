import { toMs } from '@lcm/domain/instant'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { unschedulableBecause } from '@lcm/domain/session/unschedulable'
import { SESSIONS } from '../kinds.ts'
import { impossible, reached, underWay, type Verdict, WAIT_MS_DEFAULT, type Waited } from '../wait.ts'
import type { Settling } from '../wait-until-settled.ts'
import { BY_ID, type WorkerNames } from '../worker/worker-names.ts'
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
      return judgeUp(session)
    case 'PENDING':
      return judgeWaiting(session)
    case 'SCHEDULED':
    case 'INSTANTIATING':
      return underWay
    default:
      return impossible(`is ${status}: ${endOf(session)}`)
  }
}

function judgeWaiting({ id, waiting_reason }: LabletSession): Verdict {
  const because = unschedulableBecause(waiting_reason)
  if (because === null) return underWay
  const wayOut = `it stays booked, give it up with \`lcm cancel session ${id}\``
  return impossible(`has no place, and gets none unless somebody changes that: ${because}; ${wayOut}`)
}

/** Somebody may have asked for its lab to be started again. */
function judgeUp({ pipeline }: LabletSession): Verdict {
  const steps = pipeline?.name === 'instantiate' ? Object.entries(pipeline.steps) : []
  const failed = steps.find(([, { status }]) => status === 'failed')
  if (failed !== undefined) return impossible(`did not get its lab back: ${failed[0]}: ${failed[1].error}`)
  return steps.every(([, { status }]) => status === 'completed' || status === 'skipped') ? reached : underWay
}

const endOf = ({ last_error, state_history }: LabletSession): string =>
  last_error ?? state_history.at(-1)?.because ?? 'no reason is recorded'

/** A session, until its lab is up, or gone where it was cancelled. */
export function waitedSession(start: LabletSession, names = BY_ID): Waited<LabletSession> {
  const goal = start.desired_status
  return {
    start,
    noun: 'session',
    name: `session ${start.id}`,
    handle: start.id,
    mayVanish: goal === 'TERMINATED',
    read: (client, signal) => client.call('getSession', { params: { id: start.id }, signal }),
    changed(event) {
      names.learn(event)
      return SESSIONS.changed(event)
    },
    deleted: SESSIONS.deleted,
    judge: session => judge(session, goal),
    progressText: session => progressText(session, names),
  }
}

function progressText(session: LabletSession, names: WorkerNames): string {
  const waits = waitsFor(session, names)
  const more = waits === '' ? ` and will be ${session.desired_status}` : `: ${waits}`
  return `session ${session.id} is ${session.status}${more}`
}

export const sessionSettling = (names: WorkerNames): Settling<LabletSession> => ({
  view: SESSIONS.named?.(names) ?? SESSIONS.view,
  waited: start => waitedSession(start, names),
  outcome(session, elapsed, nowMs) {
    const head = `session ${session.id} is ${session.status} after ${elapsed}`
    if (isFinal(session.status)) return { sentence: head, lines: [] }
    const lines = accessLines(session)
    const { start, end } = session.timeslot
    const begins = toMs(start) > nowMs ? `it begins ${distanceOf(start, nowMs)} and ` : 'it '
    const doors = lines.length === 0 ? '; its lab opens no ports' : ''
    return { sentence: `${head}: ${begins}ends ${distanceOf(end, nowMs)}${doors}`, lines }
  },
})

/** Timers can't be longer. */
const PATIENCE_MS_MAX = 24 * 24 * 3_600_000

/** Its lab is started shortly before its slot, however far away that is. */
export const patienceFor = ({ timeslot }: LabletSession, nowMs: number): number =>
  Math.min(PATIENCE_MS_MAX, Math.max(0, toMs(timeslot.start) - nowMs) + WAIT_MS_DEFAULT)
