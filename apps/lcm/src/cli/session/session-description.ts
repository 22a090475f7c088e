import { toMs } from '@lcm/domain/instant'
import type { Save } from '@lcm/domain/save/save'
import { hasEnded, isFinal, type LabletSession, type Pipeline, type Step } from '@lcm/domain/session/lablet-session'
import { stepsOf } from '@lcm/domain/session/pipeline-position'
import { admissionText } from '@lcm/domain/text/admission-text'
import { momentText } from '@lcm/domain/text/format-amounts'
import { needsOf } from '../definition/definition-view.ts'
import { lastSaveLine } from '../save/save-commands.ts'
import {
  conditionLines,
  type Fact,
  factLines,
  healthText,
  historyLines,
  section,
} from '../terminal/description-sections.ts'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { printable } from '../terminal/table.ts'
import { BY_ID } from '../worker/worker-names.ts'
import { ageOf } from '../worker/worker-view.ts'
import { accessLines, distanceOf, endOf, learnersText, statusOf, waitsFor } from './session-view.ts'

export interface DescribedSession {
  readonly session: LabletSession
  readonly workerLabel: string | null
  /** Its newest save; null if there is none. */
  readonly save: Save | null
  /** Whether it is read by a person who books and uses labs, and doesn't run them. */
  readonly isForLearner: boolean
}

/** The complete description of a session. */
export function describeSession(described: DescribedSession, nowMs: number, colors: Colors): string[] {
  const { session } = described
  const { definition, pipeline } = session
  const part = (title: string, lines: readonly string[]) => section(title, lines, colors)
  return [
    `${colors.bold(printable(`${definition.name} ${definition.version}`))}  ${session.id}`,
    ...factLines(factsOf(described, nowMs, colors), colors),
    ...part('Access', accessLines(session)),
    ...(pipeline === null ? [] : part(titleOf(pipeline), stepLines(pipeline, nowMs, colors))),
    ...part('Conditions', conditionLines(session.conditions, nowMs)),
    ...part('History, newest first', historyLines(session.state_history, nowMs)),
  ]
}

const factsOf = (
  { session, workerLabel, save, isForLearner }: DescribedSession,
  nowMs: number,
  colors: Colors,
): readonly Fact[] => [
  [
    'status',
    `${statusColor(session.status, colors)(statusOf(session))} for ${ageOf(session.entered_status_at, nowMs)}`,
  ],
  ['health', isForLearner ? null : healthText(session.health, nowMs, colors)],
  [
    'progress',
    printable(
      (isForLearner ? learnersText(session, nowMs) : null) ??
        waitsFor(session, { ...BY_ID, of: id => workerLabel ?? id }),
    ),
  ],
  ['error', session.last_error === null ? null : printable(session.last_error)],
  ['timeslot', slotOf(session, nowMs)],
  ['capacity', hasEnded(session.status) ? null : printable(admissionText(session.admission))],
  ['owner', printable(ownerText(session))],
  ['desired', printable(wantedBy(session))],
  ['worker', workerLabel === null ? null : printable(workerLabel)],
  ['lab', session.lab_record_id],
  ['saved', lastSaveLine(session, save, nowMs)],
  ['resumes', session.restore_from],
  ['needs', needsOf(session)],
  ['reserved', session.reservation_id === null ? null : printable(session.reservation_id)],
  ['created', `${ageOf(session.created_at, nowMs)} ago`],
  ['version', String(session.version)],
]

/** The owner's name with the id that list filters accept. */
function ownerText({ owner, owner_name }: LabletSession): string {
  return owner_name === '' || owner_name === owner ? owner : `${owner_name} (${owner})`
}

/** The timeslot, with the distance from now. */
export function slotOf(session: LabletSession, nowMs: number): string {
  const { start, end } = session.timeslot
  const slot = `${momentText(start)} to ${momentText(end)}`
  const over = endOf(session)
  if (isFinal(session.status) && over < start) return `${slot}, canceled ${distanceOf(over, nowMs)}, before its start`
  const begins = toMs(start) > nowMs ? 'starts' : 'started'
  const ends = toMs(over) > nowMs ? 'ends' : 'ended'
  return `${slot}, ${begins} ${distanceOf(start, nowMs)}, ${ends} ${distanceOf(over, nowMs)}`
}

export const wantedBy = ({ desired_status, desired_by, desired_reason }: LabletSession): string =>
  `${desired_status} by ${desired_by}${desired_reason === '' ? '' : `: ${desired_reason}`}`

const titleOf = ({ name, attempt }: Pipeline): string =>
  `Steps of ${name}${attempt === 1 ? '' : `, attempt ${attempt}`}`

const stepLines = (pipeline: Pipeline, nowMs: number, colors: Colors): string[] =>
  stepsOf(pipeline).map(step => {
    const text = printable(`${step.name.padEnd(14)} ${spanOf(step, nowMs).padEnd(10)}${noteOf(step)}`)
    return `${markOf(step, colors)} ${text}`.trimEnd()
  })

function markOf({ status }: Step, colors: Colors): string {
  switch (status) {
    case 'completed':
      return colors.green('✓')
    case 'running':
      return colors.yellow('…')
    case 'failed':
      return colors.red('✗')
    case 'skipped':
    case 'blocked':
      return colors.gray('-')
    case 'pending':
      return ' '
  }
}

/** Duration of a step, so far if it is running. */
function spanOf({ status, started_at, ended_at }: Step, nowMs: number): string {
  if (status === 'pending' || started_at === null) return ''
  if (status === 'running') return `for ${ageOf(started_at, nowMs)}`
  return ended_at === null ? '' : formatDuration(toMs(ended_at) - toMs(started_at))
}

function noteOf({ status, attempts, output, error }: Step): string {
  const waits = typeof output.waits_for === 'string' && output.waits_for !== '' && status === 'running'
  return [
    ...(status === 'skipped' || status === 'blocked' ? [status] : []),
    ...(attempts > 1 ? [`try ${attempts}`] : []),
    ...(waits ? [`waiting for ${output.waits_for}`] : []),
    ...(error === null ? [] : [error]),
  ].join(', ')
}
