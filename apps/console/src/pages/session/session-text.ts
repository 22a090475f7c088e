import { type Instant, toMs } from '@lcm/domain/instant'
import {
  isFinal,
  LAB_STOPPED,
  type LabletSession,
  type SessionStatus,
  type Step,
} from '@lcm/domain/session/lablet-session'
import { type NamedStep, placeIn } from '@lcm/domain/session/pipeline-place'
import { durationText } from '@lcm/domain/text/amounts'
import type { Info } from '../../state/live-state.ts'
import { spanText } from '../../state/time-format.ts'

/** `in 12m 03s`, or `3m 10s ago`. */
export function distanceText(instant: Instant, nowMs: number): string {
  const ms = toMs(instant) - nowMs
  return ms > 0 ? `in ${durationText(ms)}` : `${durationText(-ms)} ago`
}

/** Putting it into words is slow, and a thousand bars ask for it whenever anything changes. */
const slotTexts = new WeakMap<LabletSession['timeslot'], string>()

export function slotText(timeslot: LabletSession['timeslot']): string {
  const known = slotTexts.get(timeslot)
  if (known !== undefined) return known
  const text = spanText(toMs(timeslot.start), toMs(timeslot.end))
  slotTexts.set(timeslot, text)
  return text
}

/** What comes next in its slot: that it begins, that it ends, or that it is over. */
export function slotNote({ status, timeslot, entered_status_at }: LabletSession, nowMs: number): string {
  if (isFinal(status)) return `over ${distanceText(entered_status_at, nowMs)}`
  if (toMs(timeslot.start) > nowMs) return `begins ${distanceText(timeslot.start, nowMs)}`
  return `${toMs(timeslot.end) > nowMs ? 'ends' : 'ended'} ${distanceText(timeslot.end, nowMs)}`
}

/** By the id where no name was kept. */
export const ownerText = ({ owner, owner_name }: LabletSession, me: Info['actor'] | undefined): string =>
  owner === me?.id ? 'you' : owner_name || owner

const TEXT_CHARS_MAX = 20

/** Ids differ at their end, so it is the middle that goes. */
export const shortened = (text: string): string =>
  text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX / 2)}…${text.slice(1 - TEXT_CHARS_MAX / 2)}`

/** A canceled session is on its way out, whatever it does right now. */
export const isCanceled = ({ desired_status, status }: LabletSession): boolean =>
  desired_status === 'TERMINATED' && !isFinal(status)

const STEP_TITLES: Readonly<Record<string, string>> = {
  lab_resolve: 'Find or import the lab',
  bind: 'Put the lab on record',
  ports_alloc: 'Allocate ports',
  tags: 'Tag the nodes',
  lab_start: 'Start the lab',
  converged: 'Wait for all nodes',
  mark_ready: 'Open the doors',
  stop: 'Stop the lab',
  wipe: 'Wipe the nodes',
  delete: 'Remove the lab',
  release: 'Give back room and ports',
  archive: 'Archive',
}

export const stepTitle = ({ name }: NamedStep): string => STEP_TITLES[name] ?? name

/** How far it is, in a line; null when it has no steps, or they are all behind it. */
export function stepText(session: LabletSession): string | null {
  const place = placeIn(session)
  if (place === null) return null
  const { step, number, count } = place
  const attempt = session.pipeline?.attempt ?? 1
  const attempts = attempt > 1 ? [`attempt ${attempt}`] : []
  return [`${number}/${count} ${stepTitle(step)}`, ...attempts, ...notesOf(step)].join(', ')
}

/** What there is to say of a step besides its name, its state and its time. */
export function notesOf({ status, attempts, output, error }: Step): string[] {
  const isRunning = status === 'running'
  const { booted, nodes, waits_for } = output
  return [
    ...(attempts > 1 ? [`try ${attempts}`] : []),
    ...(isRunning && typeof booted === 'number' ? [`${booted} of ${nodes} nodes are up`] : []),
    ...(isRunning && typeof waits_for === 'string' && waits_for !== '' ? [`waits for ${waits_for}`] : []),
    ...(error === null ? [] : [error]),
  ]
}

/** How long it took, or has taken so far; null when it has not begun. */
export function stepMs({ status, started_at, ended_at }: Step, nowMs: number): number | null {
  if (started_at === null || status === 'pending') return null
  return (ended_at === null ? nowMs : toMs(ended_at)) - toMs(started_at)
}

/** What it waits for, or what became of it; empty when there is nothing to say. */
export function activityText(session: LabletSession): string {
  const { status, waiting_reason, last_error } = session
  switch (status) {
    case 'PENDING':
      return waiting_reason ?? 'waits for a place'
    case 'SCHEDULED':
      return waiting_reason ?? 'has a place and waits for its time'
    case 'INSTANTIATING':
      return stepText(session) ?? 'its lab is about to be started'
    case 'READY':
      return stepText(session) ?? stoppedText(session) ?? 'its lab is up and waits for its slot'
    case 'RUNNING':
      return stepText(session) ?? stoppedText(session) ?? 'its lab is in use'
    case 'STOPPING':
    case 'STOPPED':
      return stepText(session) ?? 'its lab is taken down'
    case 'EXPIRED':
      return 'its time is over'
    case 'ARCHIVED':
    case 'TERMINATED':
      return last_error ?? session.state_history.at(-1)?.because ?? ''
  }
}

const stoppedText = ({ conditions }: LabletSession): string | null =>
  conditions.find(({ type, status }) => type === LAB_STOPPED && status)?.message ?? null

export const isWaiting = ({ status }: { status: SessionStatus }): boolean => status === 'PENDING'

/** Instants sort as text, and quicker than by any rule of a language. */
export const byStart = (a: LabletSession, b: LabletSession): number =>
  compared(a.timeslot.start, b.timeslot.start) || compared(a.id, b.id)

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** What begins first comes first; what is over comes after, newest first. */
export const inOrder = (sessions: readonly LabletSession[]): LabletSession[] =>
  sessions.toSorted((a, b) => {
    const [isAOver, isBOver] = [isFinal(a.status), isFinal(b.status)]
    if (isAOver !== isBOver) return isAOver ? 1 : -1
    return isAOver ? -byStart(a, b) : byStart(a, b)
  })
