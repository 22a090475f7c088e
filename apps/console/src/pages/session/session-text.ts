import { isLearner } from '@lcm/contract/route-spec'
import { isAtRisk } from '@lcm/domain/fleet/lost-promises'
import { type Instant, toMs } from '@lcm/domain/instant'
import { isFinal, type LabletSession, type SessionStatus, type Step } from '@lcm/domain/session/lablet-session'
import { type NamedStep, positionIn } from '@lcm/domain/session/pipeline-position'
import { admissionText } from '@lcm/domain/text/admission-text'
import { countText, durationText } from '@lcm/domain/text/format-amounts'
import { learnerLine, learnerText } from '@lcm/domain/text/learner-text'
import type { Info } from '../../state/live-state.ts'
import { minuteText, spanText } from '../../state/time-format.ts'

/** `in 12m 03s`, or `3m 10s ago`. */
export function distanceText(instant: Instant, nowMs: number): string {
  const ms = toMs(instant) - nowMs
  return ms > 0 ? `in ${durationText(ms)}` : `${durationText(-ms)} ago`
}

/** Cache: formatting is slow, and a thousand bars need it on every change. */
const slotTexts = new WeakMap<LabletSession['timeslot'], string>()

export function slotText(timeslot: LabletSession['timeslot']): string {
  const known = slotTexts.get(timeslot)
  if (known !== undefined) return known
  const text = spanText(toMs(timeslot.start), toMs(timeslot.end))
  slotTexts.set(timeslot, text)
  return text
}

/** Next event of the timeslot: start, end, or when the session ended. */
export function slotNote({ status, timeslot, entered_status_at }: LabletSession, nowMs: number): string {
  if (isFinal(status)) return `ended ${distanceText(entered_status_at, nowMs)}`
  if (toMs(timeslot.start) > nowMs) return `starts ${distanceText(timeslot.start, nowMs)}`
  return `${toMs(timeslot.end) > nowMs ? 'ends' : 'ended'} ${distanceText(timeslot.end, nowMs)}`
}

/** Name of the owner, or the id without one. */
export const ownerText = ({ owner, owner_name }: LabletSession, me: Info['actor'] | undefined): string =>
  owner === me?.id ? 'you' : owner_name || owner

const TEXT_CHARS_MAX = 20

/** Shortens in the middle: ids differ at their end. */
export const shortened = (text: string): string =>
  text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX / 2)}…${text.slice(1 - TEXT_CHARS_MAX / 2)}`

/** Canceled, but not ended yet. */
export const isCanceled = ({ desired_status, status }: LabletSession): boolean =>
  desired_status === 'TERMINATED' && !isFinal(status)

const STEP_TITLES: Readonly<Record<string, string>> = {
  lab_resolve: 'Find or import the lab',
  bind: 'Record the lab',
  ports_alloc: 'Allocate ports',
  tags: 'Tag the nodes',
  lab_start: 'Start the lab',
  converged: 'Wait until all nodes are up',
  mark_ready: 'Publish access',
  save: 'Save the work',
  stop: 'Stop the lab',
  wipe: 'Wipe the nodes',
  delete: 'Remove the lab',
  release: 'Release capacity and ports',
  archive: 'Archive the session',
}

export const stepTitle = ({ name }: NamedStep): string => STEP_TITLES[name] ?? name

/** Progress of the pipeline in one line; null without a pipeline or after its last step. */
export function stepText(session: LabletSession): string | null {
  const position = positionIn(session)
  if (position === null) return null
  const { step, number, count } = position
  const attempt = session.pipeline?.attempt ?? 1
  const attempts = attempt > 1 ? [`attempt ${attempt}`] : []
  return [`${number}/${count} ${stepTitle(step)}`, ...attempts, ...notesOf(step)].join(', ')
}

/** Attempts, progress and error of a step. */
export function notesOf({ status, attempts, output, error }: Step): string[] {
  const isRunning = status === 'running'
  const { booted, nodes, waits_for } = output
  return [
    ...(attempts > 1 ? [`attempt ${attempts}`] : []),
    ...(isRunning && typeof booted === 'number' ? [`${booted} of ${nodes} nodes up`] : []),
    ...(isRunning && typeof waits_for === 'string' && waits_for !== '' ? [`waiting for ${waits_for}`] : []),
    ...(error === null ? [] : [error]),
  ]
}

/** Duration of a step so far; null before it starts. */
export function stepMs({ status, started_at, ended_at }: Step, nowMs: number): number | null {
  if (started_at === null || status === 'pending') return null
  return (ended_at === null ? nowMs : toMs(ended_at)) - toMs(started_at)
}

/** Current activity, what is wrong, waiting reason or outcome of a session. */
export function activityText(session: LabletSession): string {
  const { status, waiting_reason, last_error, health } = session
  const step = stepText(session)
  // A late start is explained by its step.
  const known = [health.reason?.code === 'lab_start_late' ? null : health.reason?.message, step].filter(Boolean)
  if (known.length > 0) return known.join(' · ')
  switch (status) {
    case 'PENDING':
      if (isAtRisk(session)) return admissionText(session.admission)
      return waiting_reason?.message ?? 'waiting for a worker'
    case 'SCHEDULED':
      return waiting_reason?.message ?? 'placed, waiting for its start'
    case 'INSTANTIATING':
      return 'starting the lab'
    case 'READY':
      return 'lab ready, waiting for its timeslot'
    case 'RUNNING':
      return 'lab in use'
    case 'STOPPING':
    case 'STOPPED':
      return 'removing the lab'
    case 'EXPIRED':
      return 'timeslot ended'
    case 'ARCHIVED':
    case 'TERMINATED':
      return last_error ?? session.state_history.at(-1)?.because.message ?? ''
  }
}

export const learnerTextOf = (session: LabletSession, nowMs: number) =>
  learnerText(session, { nowMs, time: at => minuteText(toMs(at)), retry: 'choose Retry' })

/** The same in the words of its reader: learners read what they can do. */
export function activityTextFor(me: Info['actor'] | undefined, session: LabletSession, nowMs: number): string {
  const text = me && isLearner(me) ? learnerTextOf(session, nowMs) : null
  return text === null ? activityText(session) : learnerLine(text)
}

export const isWaiting = ({ status }: { status: SessionStatus }): boolean => status === 'PENDING'

/** Words for sessions that have not finished, in the order of their life. */
const STAGES: readonly (readonly [string, readonly SessionStatus[]])[] = [
  ['waiting', ['PENDING']],
  ['scheduled', ['SCHEDULED']],
  ['starting', ['INSTANTIATING']],
  ['ready', ['READY']],
  ['running', ['RUNNING']],
  ['ending', ['EXPIRED', 'STOPPING', 'STOPPED']],
]

/** `3 sessions: 1 waiting, 2 running`. The parts add up to the total. */
export function countsText(sessions: readonly LabletSession[], seesAll: boolean): string {
  const present = sessions.filter(({ status }) => !isFinal(status))
  const parts = STAGES.flatMap(([word, statuses]) => {
    const count = present.filter(({ status }) => statuses.includes(status)).length
    return count === 0 ? [] : [`${count} ${word}`]
  })
  const total = `${countText(present.length, 'session')}${seesAll ? '' : ' of yours'}`
  return parts.length === 0 ? total : `${total}: ${parts.join(', ')}`
}

/** Instants sort as plain text, which is faster than a locale-aware comparison. */
export const byStart = (a: LabletSession, b: LabletSession): number =>
  compared(a.timeslot.start, b.timeslot.start) || compared(a.id, b.id)

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Unfinished sessions by start, then finished ones, newest first. */
export const inOrder = (sessions: readonly LabletSession[]): LabletSession[] =>
  sessions.toSorted((a, b) => {
    const [isAOver, isBOver] = [isFinal(a.status), isFinal(b.status)]
    if (isAOver !== isBOver) return isAOver ? 1 : -1
    return isAOver ? -byStart(a, b) : byStart(a, b)
  })
