import { isAtRisk } from '@lcm/domain/fleet/lost-promises'
import { type Instant, toMs } from '@lcm/domain/instant'
import { accessLine } from '@lcm/domain/session/access-command'
import { isFinal, type LabletSession, type SessionStatus, type Step } from '@lcm/domain/session/lablet-session'
import { positionIn } from '@lcm/domain/session/pipeline-position'
import { admissionText } from '@lcm/domain/text/admission-text'
import { learnerLine, learnerText } from '@lcm/domain/text/learner-text'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { type Column, tableLines } from '../terminal/table.ts'
import { BY_ID, type WorkerNames } from '../worker/worker-names.ts'
import { ageOf } from '../worker/worker-view.ts'

/** The status, and the desired status if the session was canceled. */
export const statusOf = ({ status, desired_status }: LabletSession): string =>
  desired_status === 'RUNNING' || isOver(status) ? status : `${status} -> ${desired_status}`

const isOver = (status: SessionStatus): boolean => status === 'ARCHIVED' || status === 'TERMINATED'

/** `in 12m`, or `3m ago`. */
export function distanceOf(instant: Instant, nowMs: number): string {
  const ms = toMs(instant) - nowMs
  return ms > 0 ? `in ${formatDuration(ms)}` : `${formatDuration(-ms)} ago`
}

const REMOVING_LAB = 'removing its lab'

/** Advice for its owner, without the words of operators; null while all is well. */
export function learnersText(session: LabletSession, nowMs: number): string | null {
  const time = (at: Instant) => `${at.slice(11, 16)} UTC`
  const text = learnerText(session, { nowMs, time, retry: `run \`lcm retry session ${session.id}\`` })
  return text === null ? null : learnerLine(text)
}

/** Reason of its health, current progress or reason for waiting; empty if there is none. */
export function waitsFor(session: LabletSession, names = BY_ID): string {
  const { reason } = session.health
  if (reason !== null) return [reason.message, stepText(session)].filter(Boolean).join('; ')
  switch (session.status) {
    case 'PENDING':
      return session.waiting_reason?.message ?? 'waiting for placement'
    case 'SCHEDULED':
      return (
        session.waiting_reason?.message ?? `placed on ${names.of(session.worker_id ?? '')}, waiting for its start time`
      )
    case 'INSTANTIATING':
      return stepText(session) ?? (session.pipeline === null ? 'its lab will be started' : 'its lab is running')
    case 'READY':
      return stepText(session) ?? 'its lab is running, waiting for its start time'
    case 'EXPIRED':
      return 'its timeslot has ended'
    case 'STOPPING':
      return stepText(session) ?? (session.pipeline === null ? 'its lab will be removed' : REMOVING_LAB)
    case 'STOPPED':
      return REMOVING_LAB
    case 'RUNNING':
      return stepText(session) ?? ''
    case 'ARCHIVED':
      return ''
    case 'TERMINATED':
      return session.last_error ?? ''
  }
}

function stepText(session: LabletSession): string | null {
  const position = positionIn(session)
  if (position === null) return null
  const { step, number, count } = position
  const attempt = session.pipeline?.attempt ?? 1
  return [
    `step ${number} of ${count}, ${step.name}`,
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...nodesUp(step),
    ...(step.error === null ? [] : [step.error]),
  ].join(', ')
}

/** Number of booted nodes, if the step reports it. */
function nodesUp({ status, output: { booted, nodes } }: Step): string[] {
  return status === 'running' && typeof booted === 'number' ? [`${booted} of ${nodes} nodes booted`] : []
}

/** The current step; empty before and after the pipeline. */
export function stageOf(session: LabletSession): string {
  if (session.status === 'EXPIRED' || session.status === 'STOPPED' || isFinal(session.status)) return ''
  const position = positionIn(session)
  return position === null ? '' : `${position.step.name} ${position.number}/${position.count}`
}

/** How a table of sessions is read. */
export interface SessionReader {
  readonly names: WorkerNames
  readonly isLearner: boolean
}

/** Why it is not as it should be, in full: the last column of a table is not shortened. */
const reasonOf = (session: LabletSession): string => {
  const { status, health, waiting_reason, admission } = session
  if (health.reason !== null) return health.reason.message
  if (isAtRisk(session)) return admissionText(admission)
  return status === 'PENDING' ? (waiting_reason?.message ?? '') : ''
}

/** The end of the timeslot, or the actual end if that was earlier. */
export const endOf = ({ status, timeslot, entered_status_at }: LabletSession): Instant =>
  isFinal(status) && entered_status_at < timeslot.end ? entered_status_at : timeslot.end

/** The owner's name; sessions of older versions only have the token id. */
const ownerOf = ({ owner, owner_name }: LabletSession): string => owner_name || owner

export const sessionColumns = (
  nowMs: number,
  colors: Colors,
  { names, isLearner }: SessionReader = { names: BY_ID, isLearner: false },
): readonly Column<LabletSession>[] => [
  { title: 'ID', text: session => session.id },
  { title: 'DEFINITION', text: ({ definition }) => `${definition.name} ${definition.version}` },
  { title: 'OWNER', text: ownerOf },
  { title: 'STATUS', text: statusOf, paint: (text, session) => statusColor(session.status, colors)(text) },
  {
    title: 'HEALTH',
    text: ({ status, health }) => (isFinal(status) ? '' : health.status),
    paint: (text, { health }) => statusColor(health.status, colors)(text),
  },
  { title: 'STAGE', text: stageOf },
  { title: 'WORKER', text: ({ worker_id }) => (worker_id === null ? '' : names.of(worker_id)) },
  {
    title: 'STARTS',
    text: session =>
      isFinal(session.status) && endOf(session) < session.timeslot.start
        ? ''
        : distanceOf(session.timeslot.start, nowMs),
  },
  { title: 'ENDS', text: session => distanceOf(endOf(session), nowMs) },
  { title: 'AGE', text: session => ageOf(session.created_at, nowMs) },
  { title: 'REASON', text: session => (isLearner ? (learnersText(session, nowMs) ?? '') : reasonOf(session)) },
]

type Access = LabletSession['access'][number]

const ACCESS_COLUMNS: readonly Column<Access>[] = [
  { title: 'NAME', text: access => access.name },
  { title: 'NODE', text: access => access.node },
  { title: 'PROTOCOL', text: access => access.protocol },
  { title: 'OPEN WITH', text: accessLine },
]

/** Access of the lab; empty if none is published. */
export const accessLines = ({ access }: LabletSession): string[] =>
  access.length === 0 ? [] : tableLines(ACCESS_COLUMNS, access)
