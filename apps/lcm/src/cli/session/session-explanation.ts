import type { DecisionRecord } from '@lcm/domain/decision'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import type { Next } from '@lcm/domain/next'
import { STOPPED_REASON } from '@lcm/domain/session/lab-restart'
import { LAB_STOPPED, type LabletSession } from '@lcm/domain/session/lablet-session'
import { placeIn } from '@lcm/domain/session/pipeline-place'
import { type SessionNextCode, sessionNextText } from '@lcm/domain/session/session-next'
import { decisionLines, type Reader, reasonsOf } from '../explanation.ts'
import { section } from '../terminal/description.ts'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { printable } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'
import { slotOf, wantedBy } from './session-description.ts'

export interface ExplainedSession {
  readonly session: LabletSession
  /** Newest first. */
  readonly decisions: readonly DecisionRecord[]
  readonly plan: PlannedAction | null
  readonly next: Next<SessionNextCode>
  /** By how much its definition lets it be extended. */
  readonly minutesLeft: number
}

/** Why a session is where it is, what happens next, and what its reader can do about it. */
export function explainSession(explained: ExplainedSession, reader: Reader, colors: Colors): string[] {
  const { nowMs, isVerbose } = reader
  const { session, decisions, next } = explained
  const part = (title: string, lines: readonly string[]) => section(title, lines.map(printable), colors)
  const status = statusColor(session.status, colors)(session.status)
  const name = `${session.id} of ${session.definition.name} ${session.definition.version}`
  return [
    `${colors.bold(printable(name))} is ${status}, for ${ageOf(session.entered_status_at, nowMs)} now.`,
    ...part('Why', reasonsOf(session.state_history, decisions, reader)),
    ...part('Wanted', [`${wantedBy(session)}; ${slotOf(session, nowMs)}`]),
    ...part('Next', [sessionNextText(next, { nowMs, duration: formatDuration })]),
    ...part('What stands out', obstaclesOf(session, nowMs)),
    ...part('What you can do', adviceFor(explained)),
    ...part('Decisions, newest first', decisionLines(decisions, nowMs, isVerbose)),
  ]
}

const obstaclesOf = (session: LabletSession, nowMs: number): string[] => [
  ...(session.last_error === null ? [] : [`its last error: ${session.last_error}`]),
  ...session.conditions
    .filter(condition => condition.status)
    .map(({ type, message, since }) => `${type}, for ${ageOf(since, nowMs)}: ${message}`),
]

/** Whether a person has to start its lab again: one that stopped with its machine is started by itself. */
const isLeftStopped = ({ conditions }: LabletSession): boolean =>
  conditions.some(({ type, status, reason }) => type === LAB_STOPPED && status && reason !== STOPPED_REASON.restart)

/** As long as people mostly ask for, where so much is left. */
const EXTENSION_MINUTES = 30

function adviceFor({ session, minutesLeft }: ExplainedSession): string[] {
  const { id, status, definition, last_error } = session
  switch (status) {
    case 'PENDING':
      return [
        `lcm preview definition ${definition.name}    see which workers could take it, and why others can't`,
        `lcm cancel session ${id}    give it up`,
      ]
    case 'INSTANTIATING':
      return last_error === null && (placeIn(session)?.step.error ?? null) === null
        ? []
        : [`lcm retry session ${id}    start its lab anew`]
    case 'READY':
    case 'RUNNING':
      return [
        ...(isLeftStopped(session) ? [`lcm retry session ${id}    start its lab again`] : []),
        `lcm describe session ${id}    how to get in`,
        ...(minutesLeft < 1
          ? []
          : [`lcm extend session ${id} --minutes ${Math.min(EXTENSION_MINUTES, minutesLeft)}    let it last longer`]),
      ]
    case 'TERMINATED':
      return last_error === null ? [] : [`lcm book ${definition.name}    book another`]
    default:
      return []
  }
}
