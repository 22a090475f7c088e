import type { Instant } from '../instant.ts'
import { toInstant } from '../instant.ts'
import type { Draft } from '../notification/decide-notifications.ts'
import { type Notice, type Subject, subjectKey } from '../notification/notice.ts'
import { type Message, type NotificationKind, SEVERITIES } from '../notification/notification-target.ts'
import type { Reason } from '../reason.ts'
import { unschedulableBecause } from '../session/unschedulable-reason.ts'
import { countText } from './format-amounts.ts'
import { HIDDEN_CHARACTERS } from './hidden-characters.ts'

const LISTED_MAX = 50
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

type SessionSubject = Extract<Subject, { kind: 'session' }>
type SessionNotice = Notice & { readonly subject: SessionSubject }

interface Context {
  /** Address of the console; null if browsers can't reach it. */
  readonly publicUrl: string | null
  readonly nowMs: number
}

/** The message of a notification: to an owner about the own lab, or to operators and instructors. */
export function notificationMessage(draft: Draft, context: Context): Message {
  const { kind, is_resolved, notices } = draft
  const sessions = notices.filter(isOfSession)
  const [title, ...lines] = is_resolved ? resolvedText(draft, sessions) : textOf(draft, sessions, context)
  return {
    kind,
    is_resolved,
    severity: SEVERITIES.findLast(each => notices.some(({ severity }) => severity === each)) ?? 'info',
    title: onOneLine(title ?? ''),
    lines: lines.filter(line => line !== null).map(onOneLine),
    link: linkOf(notices, context),
    subjects: notices.map(({ subject }) => subjectKey(subject)),
  }
}

type Text = [title: string, ...lines: (string | null)[]]

const isOfSession = (notice: Notice): notice is SessionNotice => notice.subject.kind === 'session'

function textOf(draft: Draft, sessions: readonly SessionNotice[], { nowMs }: Context): Text {
  if (draft.kind === 'worker_failed') return workersText(draft.notices)
  if (draft.kind === 'license_leak') return leaksText(draft.notices)
  if (draft.kind === 'budget' || draft.kind === 'capacity_ahead') return warningsText(draft)
  const [first] = sessions
  if (first === undefined) return ['']
  if (draft.owner !== null && sessions.length === 1) return ownerText(first, nowMs)
  const isOwner = draft.owner !== null
  const lines = isOwner ? [reasonLine(first.ownerCause)] : operatorLines(draft.kind, first)
  return [groupTitle(sessions, isOwner, nowMs), ...lines, ...listOf(sessions, nowMs)]
}

/** Says what happened, what LCM does, and what the owner can do. */
function ownerText({ kind, subject, ownerCause: cause, hadLab }: SessionNotice, nowMs: number): Text {
  const lab = `Your lab ${subject.lab}`
  const until = timeText(subject.end, nowMs)
  switch (kind) {
    case 'session_ready':
      return [
        `${lab} is ready${hadLab ? ' again,' : ''} until ${until}`,
        hadLab ? 'It runs on another server now, so its addresses have changed.' : null,
        'Open the session to connect to its devices.',
      ]
    case 'session_degraded':
      if (cause?.code === 'lab_stopped_on_cml')
        return [
          `${lab} is stopped`,
          reasonLine(cause),
          `You can start it again in CML. It stays reserved for you until ${until}.`,
        ]
      if (cause?.code === 'lab_start_late')
        return [`${lab} is late`, reasonLine(cause), 'LCM is still starting it. You get a message when it is ready.']
      return [
        `${lab} has a problem`,
        reasonLine(cause),
        `It may still work, and it stays reserved for you until ${until}. You get a message when the problem is over.`,
      ]
    case 'session_down':
      return [
        `${lab} is not available`,
        reasonLine(cause),
        "You don't need to do anything: you get a message when it works again.",
      ]
    case 'session_moved':
      return [
        `${lab} moves to another server`,
        reasonLine(cause),
        'It starts there from your last save, if there is one. You get a message when it is ready; its addresses will change.',
      ]
    case 'session_lost':
      return [
        hadLab ? `${lab} ended early` : `${lab} could not be started`,
        reasonLine(cause),
        'Book another session to continue.',
      ]
    case 'session_at_risk':
      return [
        `${lab} may not start at ${timeText(subject.start, nowMs)}`,
        reasonLine(cause),
        'LCM keeps looking for capacity. To be sure, book another time, or ask the people who run LCM.',
      ]
    case 'session_ends_soon':
      return [`${lab} ends at ${until}`, 'Save your work now, or extend the session if you need more time.']
    default:
      if (unschedulableBecause(cause) !== null)
        return [
          `${lab} can't be started yet`,
          reasonLine(unschedulableBecause(cause)),
          'Ask the people who run LCM. You get a message when it is ready.',
        ]
      return [
        `${lab} waits for capacity`,
        reasonLine(cause),
        'It starts as soon as a server has capacity. You get a message when it is ready.',
      ]
  }
}

function resolvedText({ kind, owner, notices }: Draft, sessions: readonly SessionNotice[]): Text {
  if (kind === 'budget') return ['The budget is no longer short']
  if (kind === 'capacity_ahead') return ['The limits suffice for what is booked again']
  const [first] = sessions
  // It serves again, or was stopped.
  if (first === undefined)
    return [
      notices.length === 1
        ? `The problem of worker ${namesOf(notices)} is over`
        : `The problems of ${namesOf(notices)} are over`,
    ]
  const who = subjectText(sessions, owner !== null)
  const isOne = sessions.length === 1
  if (kind === 'session_at_risk') return [`${who} ${isOne ? 'has' : 'have'} capacity again`]
  if (kind === 'capacity_short')
    return [
      `${who} no longer ${isOne ? 'waits' : 'wait'} for capacity`,
      `LCM has found a worker for ${isOne ? 'it' : 'them'}.`,
    ]
  return [`${who} ${isOne ? 'works' : 'work'} again`]
}

function groupTitle(sessions: readonly SessionNotice[], isOwner: boolean, nowMs: number): string {
  const who = subjectText(sessions, isOwner)
  const isOne = sessions.length === 1
  const be = isOne ? 'is' : 'are'
  const [{ kind, subject, hadLab } = { kind: undefined, subject: undefined, hadLab: true }] = sessions
  const end = timeText(subject?.end ?? '', nowMs)
  switch (kind) {
    case 'session_ready':
      return `${who} ${be} ready${hadLab ? ' again' : ''}${isOne ? `${hadLab ? ',' : ''} until ${end}` : ''}`
    case 'session_degraded':
      return `${who} ${be} degraded`
    case 'session_down':
      return `${who} ${be} down`
    case 'session_moved':
      return `${who} ${isOne ? 'moves' : 'move'} to another worker`
    case 'session_lost':
      return hadLab ? `${who} ended early` : `${who} could not be started`
    case 'session_at_risk':
      return `${who} may not start ${isOne ? `at ${timeText(subject?.start ?? '', nowMs)}` : 'in time'}`
    case 'session_ends_soon':
      return `${who} ${isOne ? 'ends' : 'end'} at ${end}`
    default:
      return `${who} ${isOne ? 'waits' : 'wait'} for capacity`
  }
}

function operatorLines(kind: NotificationKind, { cause, fix }: Notice): (string | null)[] {
  if (kind === 'session_moved')
    return [reasonLine(cause), 'LCM starts the labs again on other workers, from their last saves.']
  return [reasonLine(cause), fixLine(fix)]
}

/** `Lab OSPF basics of Ann`, or how many there are. */
function subjectText(sessions: readonly SessionNotice[], isOwner: boolean): string {
  const [first] = sessions
  const lab = first?.subject.lab ?? ''
  if (sessions.length === 1) return isOwner ? `Your lab ${lab}` : `Lab ${lab} of ${first?.subject.owner_name}`
  const isSame = sessions.every(({ subject }) => subject.lab === lab)
  const count = sessions.length
  return isOwner ? `${count} of your labs` : isSame ? `${count} ${lab} labs` : `${count} labs`
}

/** A single session is named in the title. */
function listOf(sessions: readonly SessionNotice[], nowMs: number): string[] {
  if (sessions.length === 1) return []
  const lines = sessions.slice(0, LISTED_MAX).map(({ kind, subject }) => {
    const isAhead = kind === 'session_at_risk'
    const time = isAhead ? `at ${timeText(subject.start, nowMs)}` : `until ${timeText(subject.end, nowMs)}`
    return `${subject.owner_name}: ${subject.lab}, ${time}`
  })
  const others = sessions.length - lines.length
  return others === 0 ? lines : [...lines, `and ${others} more`]
}

function nameOf(subject: Subject): string {
  switch (subject.kind) {
    case 'worker':
      return subject.name
    case 'license_leak':
      return subject.worker_name
    case 'session':
      return subject.lab
    case 'fleet':
      return subject.id
  }
}

const namesOf = (notices: readonly Notice[]): string =>
  notices.length === 1 && notices[0] !== undefined ? nameOf(notices[0].subject) : countText(notices.length, 'worker')

function workersText(notices: readonly Notice[]): Text {
  const isOne = notices.length === 1
  const each = notices.map(({ subject, cause }) => (isOne ? reasonLine(cause) : causeOf(subject, cause)))
  const advice = isOne ? fixLine(notices[0]?.fix ?? null) : 'See `lcm doctor`, or `lcm why worker ID` for one of them.'
  return [
    isOne ? `Worker ${namesOf(notices)} is not available` : `${namesOf(notices)} are not available`,
    ...shortened(each),
    advice,
  ]
}

function leaksText(notices: readonly Notice[]): Text {
  const [first] = notices
  const name = first === undefined ? '' : nameOf(first.subject)
  const title =
    notices.length === 1 ? `The license of ${name} was not returned` : `${notices.length} licenses were not returned`
  const each = notices.map(({ subject, cause }) => causeOf(subject, cause))
  const advice = 'Remove it in Smart Software Manager, then run `lcm resolve leak ID`; `lcm get leaks` shows the ids.'
  return [title, ...(notices.length === 1 ? [reasonLine(first?.cause ?? null)] : shortened(each)), advice]
}

function warningsText({ kind, notices }: Draft): Text {
  const isUsedUp = notices.some(({ gravity }) => gravity > 1)
  const budget = isUsedUp ? 'A budget is used up' : 'Most of a budget is used'
  const lines = notices.flatMap(({ cause, fix }) => [reasonLine(cause), fixLine(fix)])
  return [kind === 'budget' ? budget : 'More is booked than the limits allow', ...lines]
}

const causeOf = (subject: Subject, cause: Reason | null): string =>
  `${nameOf(subject)}: ${cause?.message ?? 'no reason is known'}`

const shortened = (lines: readonly (string | null)[]): (string | null)[] =>
  lines.length <= LISTED_MAX ? [...lines] : [...lines.slice(0, LISTED_MAX), `and ${lines.length - LISTED_MAX} more`]

const reasonLine = (because: Reason | null): string | null => (because === null ? null : `Reason: ${because.message}`)
/** As `lcm doctor` shows it. */
const fixLine = (fix: Reason | null): string | null => (fix === null ? null : `→ ${fix.message}`)

/** `11:00 UTC`, with its day unless that is today. */
function timeText(at: Instant, nowMs: number): string {
  const [day = '', time = ''] = at.split('T')
  const clock = `${time.slice(0, 5)} UTC`
  if (toInstant(nowMs).startsWith(day)) return clock
  const [, month, date] = day.split('-')
  return `${clock} on ${MONTHS[Number(month) - 1]} ${Number(date)}`
}

function linkOf(notices: readonly Notice[], { publicUrl }: Context): string | null {
  const [first] = notices
  if (publicUrl === null || first === undefined) return null
  const { kind, id } = first.subject
  const page = kind === 'session' ? 'sessions' : kind === 'worker' ? 'workers' : 'overview'
  const path =
    notices.length === 1 && (kind === 'session' || kind === 'worker') ? `${page}/${encodeURIComponent(id)}` : page
  return `${publicUrl.replace(/\/+$/, '')}/#/${path}`
}

/** Names are chosen by people: none may add a line to a message. */
const onOneLine = (text: string): string => text.replace(HIDDEN_CHARACTERS, ' ').trim()
