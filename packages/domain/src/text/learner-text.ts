import { isAtRisk } from '../fleet/lost-promises.ts'
import { type Instant, toMs } from '../instant.ts'
import { LAB_RESTORED } from '../save/restore.ts'
import { isUp, LAB_STOPPED, type LabletSession } from '../session/lablet-session.ts'
import { movedAt } from '../session/session-health.ts'
import { unschedulableBecause } from '../session/unschedulable-reason.ts'

/** What learners read about a session that they can't use: nothing about machines, limits or other people. */
export interface LearnerText {
  readonly what: string
  /** What happens next, or what they can do. */
  readonly advice: string
}

interface Words {
  readonly nowMs: number
  /** A time of day, such as `11:00`. */
  readonly time: (at: Instant) => string
  /** How to retry, such as `choose Retry`. */
  readonly retry: string
}

const WAIT = 'Wait a few minutes. If nothing changes, ask your instructor.'

/** Null while the session is as it should be. */
export function learnerText(session: LabletSession, words: Words): LearnerText | null {
  const { status, health, desired_status, conditions } = session
  if (desired_status === 'TERMINATED') return null
  if (status === 'PENDING') return waitingText(session, words)
  if (health.status === 'OK') return isUp(status) && lacksWork(conditions) ? WITHOUT_WORK : null
  switch (health.reason?.code) {
    case 'session_starts_elsewhere':
      return movingText(session, words)
    case 'lab_start_late':
      return { what: 'Your lab takes longer than usual to start.', advice: retryText(words) }
    case 'lab_state_unknown':
      return {
        what: "LCM can't see whether your lab is running.",
        advice: 'Keep working if your lab responds. If it does not, wait a few minutes, then ask your instructor.',
      }
    case 'lab_stopped_on_cml':
      return { what: 'Your lab is stopped.', advice: `To start it again, ${words.retry}.` }
    case 'lab_stopped_by_restart':
      return {
        what: 'The machine of your lab was restarted.',
        advice: 'Your lab is being started again. Wait a few minutes, then reconnect.',
      }
    case 'lab_incomplete':
      return { what: 'Some devices of your lab are not up.', advice: retryText(words) }
    case 'lab_down':
      return { what: 'The machine of your lab is down.', advice: WAIT }
    default:
      return conditions.some(({ type, status: holds }) => type === LAB_STOPPED && holds)
        ? { what: 'Your lab has stopped.', advice: retryText(words) }
        : { what: "Your lab can't be used at the moment.", advice: WAIT }
  }
}

const lacksWork = (conditions: LabletSession['conditions']): boolean =>
  conditions.some(({ type, status }) => type === LAB_RESTORED && !status)

const WITHOUT_WORK: LearnerText = {
  what: 'Your lab started without your saved work.',
  advice: 'Try to download your last save, or ask your instructor.',
}

/** The text in one line. */
export const learnerLine = ({ what, advice }: LearnerText): string => `${what} ${advice}`

const retryText = ({ retry }: Words): string =>
  `Wait a few minutes. If nothing changes, ${retry}, or ask your instructor.`

function waitingText(session: LabletSession, words: Words): LearnerText {
  const lasting = unschedulableBecause(session.waiting_reason)
  if (lasting?.code === 'definition_deleted')
    return { what: 'This lab is no longer offered.', advice: 'Cancel the session and book another lab.' }
  if (lasting !== null) return { what: 'No machine can run this lab.', advice: 'Ask your instructor.' }
  if (movedAt(session) !== null) return movingText(session, words)
  const { waiting_reason, timeslot, health } = session
  const isEarly = toMs(timeslot.start) > words.nowMs
  if (isEarly && isAtRisk(session))
    return {
      what: `Your lab may not start at ${words.time(timeslot.start)}.`,
      advice: `No machine is left for it at that time. LCM keeps looking. To be sure, book another time, or ask your instructor.`,
    }
  if (isEarly && waiting_reason === null)
    return { what: 'Your session is booked.', advice: `Your lab starts at ${words.time(timeslot.start)}.` }
  const isSearching = waiting_reason === null && health.status === 'OK'
  const what = isSearching ? 'LCM is looking for a machine.' : 'No machine is free yet.'
  const when = isEarly
    ? `Your lab starts at ${words.time(timeslot.start)}, or as soon as one is.`
    : `Your lab starts as soon as one is${isSearching ? ' found' : ''}.`
  return { what, advice: `${when} ${untilText(session, words)}` }
}

function movingText(session: LabletSession, words: Words): LearnerText {
  const { save, restore_from } = session
  const work = (save.save_id ?? restore_from) === null ? '' : ' It continues with your last saved work.'
  return { what: 'Your lab is moving to another machine.', advice: `${untilText(session, words)}${work}` }
}

const untilText = ({ timeslot }: LabletSession, { time }: Words): string =>
  `LCM keeps trying until ${time(timeslot.end)}.`
