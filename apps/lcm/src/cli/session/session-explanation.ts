import { isAtRisk } from '@lcm/domain/fleet/lost-promises'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import type { Next } from '@lcm/domain/next-step'
import type { ReasonCode } from '@lcm/domain/reason'
import { LAB_RESTORED } from '@lcm/domain/save/restore'
import type { Save } from '@lcm/domain/save/save'
import type { PlannedAction } from '@lcm/domain/service-instance'
import {
  isFinal,
  isOver,
  isUp,
  LAB_STOPPED,
  type LabletSession,
  type SessionSave,
} from '@lcm/domain/session/lablet-session'
import { positionIn } from '@lcm/domain/session/pipeline-position'
import { type SessionNextCode, sessionNextText } from '@lcm/domain/session/session-next-step'
import { admissionText } from '@lcm/domain/text/admission-text'
import { momentText } from '@lcm/domain/text/format-amounts'
import { decisionLines, type Reader, reasonsOf } from '../decision-text.ts'
import { lastSaveLine } from '../save/save-commands.ts'
import { healthLine, section } from '../terminal/description-sections.ts'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { printable } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'
import { slotOf, wantedBy } from './session-description.ts'
import { learnersText } from './session-view.ts'

export interface ExplainedSession {
  readonly session: LabletSession
  /** Newest first. */
  readonly decisions: readonly DecisionRecord[]
  readonly plan: PlannedAction | null
  readonly next: Next<SessionNextCode>
  /** Minutes by which the session can still be extended. */
  readonly minutesLeft: number
  /** Its newest save; null if there is none. */
  readonly save: Save | null
  /** Whether it is read by a person who books and uses labs, and doesn't run them. */
  readonly isForLearner: boolean
}

/** Explains the status of a session, what happens next, and what the user can do. */
export function explainSession(explained: ExplainedSession, reader: Reader, colors: Colors): string[] {
  return explained.isForLearner ? forLearner(explained, reader, colors) : forOperator(explained, reader, colors)
}

/** Learners read what they can do, and not how LCM decides. */
function forLearner(explained: ExplainedSession, { nowMs }: Reader, colors: Colors): string[] {
  const { session, save } = explained
  const saved = lastSaveLine(session, save, nowMs)
  const part = (title: string, lines: readonly string[]) => section(title, lines.map(printable), colors)
  const status = statusColor(session.status, colors)(session.status)
  const text = learnersText(session, nowMs) ?? learnersStateText(session)
  return [
    `${colors.bold(printable(`${session.id} of ${session.definition.name}`))} is ${status}.`,
    ...part('Now', [text]),
    ...part('Timeslot', [slotOf(session, nowMs)]),
    ...part('Saved work', saved === null ? [] : [saved]),
    ...part('What you can do', adviceFor(explained)),
  ]
}

/** What a session is doing while all is well. */
function learnersStateText(session: LabletSession): string {
  const { status, timeslot } = session
  if (isFinal(status)) return 'Your session has ended.'
  if (isOver(session)) return 'Your session is ending and its lab is being removed.'
  if (isUp(status)) return `You can use your lab until ${momentText(timeslot.end)}.`
  return status === 'INSTANTIATING'
    ? 'Your lab is being started.'
    : 'Your session has a machine. Its lab starts in time.'
}

function forOperator(explained: ExplainedSession, reader: Reader, colors: Colors): string[] {
  const { nowMs, isVerbose } = reader
  const { session, decisions, next, save } = explained
  const saved = lastSaveLine(session, save, nowMs)
  const part = (title: string, lines: readonly string[]) => section(title, lines.map(printable), colors)
  const status = statusColor(session.status, colors)(session.status)
  const { health } = session
  const name = `${session.id} of ${session.definition.name} ${session.definition.version}`
  return [
    `${colors.bold(printable(name))} has been ${status} for ${ageOf(session.entered_status_at, nowMs)}.`,
    ...healthLine(health, nowMs, colors),
    ...part('Why', reasonsOf(session.state_history, decisions, reader)),
    ...part('Desired', [`${wantedBy(session)}; ${slotOf(session, nowMs)}`]),
    ...part('Next', [sessionNextText(next, { nowMs, duration: formatDuration })]),
    ...part('Saved work', saved === null ? [] : [saved]),
    ...part('Problems', obstaclesOf(session, nowMs)),
    ...part('What you can do', adviceFor(explained)),
    ...part('Decisions, newest first', decisionLines(decisions, nowMs, isVerbose)),
  ]
}

const obstaclesOf = (session: LabletSession, nowMs: number): string[] => [
  ...(isAtRisk(session) ? [`${admissionText(session.admission)}.`] : []),
  ...(session.last_error === null ? [] : [`Last error: ${session.last_error}`]),
  ...session.conditions
    .filter(({ type, status }) => (type === LAB_RESTORED ? !status : status))
    .map(({ type, reason, since }) => `${type} for ${ageOf(since, nowMs)}: ${reason.message}`),
]

const BY_RESTART: ReasonCode = 'lab_stopped_by_restart'

/** Whether a user must restart the lab; a lab that stopped with its machine is restarted automatically. */
const isLeftStopped = ({ conditions }: LabletSession): boolean =>
  conditions.some(({ type, status, reason }) => type === LAB_STOPPED && status && reason.code !== BY_RESTART)

/** The suggested extension. */
const EXTENSION_MINUTES = 30

const resumeOf = ({ save_id }: SessionSave): string[] =>
  save_id === null ? [] : [`lcm book --resume ${save_id}    continue with its saved work`]

function adviceFor({ session, minutesLeft, isForLearner }: ExplainedSession): string[] {
  const { id, status, definition, last_error, save } = session
  switch (status) {
    case 'PENDING':
      if (isAtRisk(session))
        return [
          ...(isForLearner ? [] : ['lcm doctor    show what brings the capacity back']),
          `lcm book ${definition.name} --start TIME    book another time`,
          `lcm cancel session ${id}    cancel it`,
        ]
      return [
        `lcm preview definition ${definition.name}    show whether a machine is free now`,
        `lcm cancel session ${id}    cancel it`,
      ]
    case 'INSTANTIATING':
      return last_error === null && (positionIn(session)?.step.error ?? null) === null
        ? []
        : [`lcm retry session ${id}    start its lab again`]
    case 'READY':
    case 'RUNNING':
      return [
        ...(isLeftStopped(session) ? [`lcm retry session ${id}    restart its lab`] : []),
        `lcm describe session ${id}    show how to connect`,
        ...(minutesLeft < 1
          ? []
          : [`lcm extend session ${id} --minutes ${Math.min(EXTENSION_MINUTES, minutesLeft)}    extend it`]),
      ]
    case 'ARCHIVED':
      return resumeOf(save)
    case 'TERMINATED':
      return [...resumeOf(save), ...(last_error === null ? [] : [`lcm book ${definition.name}    book another`])]
    default:
      return []
  }
}
