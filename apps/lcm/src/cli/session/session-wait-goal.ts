import { toMs } from '@lcm/domain/instant'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { isLeaving } from '@lcm/domain/session/session-move-request'
import { unschedulableBecause } from '@lcm/domain/session/unschedulable-reason'
import { SESSIONS } from '../resource-kinds.ts'
import { impossible, reached, underWay, type Verdict, WAIT_MS_DEFAULT, type Waited } from '../wait-for-goal.ts'
import type { Settling } from '../waitable-command.ts'
import { BY_ID, type WorkerNames } from '../worker/worker-names.ts'
import { accessLines, distanceOf, waitsFor } from './session-view.ts'

type Goal = LabletSession['desired_status']

/** Whether the lab is ready, or, for a canceled session, removed. */
export function judge(session: LabletSession, goal: Goal): Verdict {
  const { status, desired_status, desired_by } = session
  if (goal === 'TERMINATED') return isFinal(status) ? reached : underWay
  if (desired_status !== goal) return impossible(`was canceled by ${desired_by}`)
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
  const advice = `it stays booked, cancel it with \`lcm cancel session ${id}\``
  return impossible(`can't be placed without a change: ${because.message}`, advice)
}

/** A READY or RUNNING session may have a retry in progress, or may be about to move. */
function judgeUp(session: LabletSession): Verdict {
  if (isLeaving(session)) return underWay
  const { pipeline } = session
  const steps = pipeline?.name === 'instantiate' ? Object.entries(pipeline.steps) : []
  const failed = steps.find(([, { status }]) => status === 'failed')
  if (failed !== undefined) return impossible(`could not restart its lab: ${failed[0]}: ${failed[1].error}`)
  return steps.every(([, { status }]) => status === 'completed' || status === 'skipped') ? reached : underWay
}

const endOf = ({ last_error, state_history }: LabletSession): string =>
  last_error ?? state_history.at(-1)?.because.message ?? 'no reason is recorded'

/** Waits until the lab of a session is ready, or removed if the session was canceled. */
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
  view: SESSIONS.viewFor?.({ names, isLearner: false }) ?? SESSIONS.view,
  waited: start => waitedSession(start, names),
  outcome(session, elapsed, nowMs) {
    const head = `session ${session.id} is ${session.status} after ${elapsed}`
    if (isFinal(session.status)) return { sentence: head, lines: [] }
    const lines = accessLines(session)
    const { start, end } = session.timeslot
    const begins = toMs(start) > nowMs ? `it starts ${distanceOf(start, nowMs)} and ` : 'it '
    const access = lines.length === 0 ? '; its lab publishes no ports' : ''
    return { sentence: `${head}: ${begins}ends ${distanceOf(end, nowMs)}${access}`, lines }
  },
})

/** Longer timers would overflow. */
const TIMEOUT_MS_MAX = 24 * 24 * 3_600_000

/** The default timeout, counted from the start of the timeslot. */
export const timeoutFor = ({ timeslot }: LabletSession, nowMs: number): number =>
  Math.min(TIMEOUT_MS_MAX, Math.max(0, toMs(timeslot.start) - nowMs) + WAIT_MS_DEFAULT)
