import { type Instant, toMs } from '@lcm/domain/instant'
import { accessLine } from '@lcm/domain/session/access-line'
import { isFinal, type LabletSession, type SessionStatus, type Step } from '@lcm/domain/session/lablet-session'
import { placeIn } from '@lcm/domain/session/pipeline-place'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { type Column, tableLines } from '../terminal/table.ts'
import { BY_ID } from '../worker/worker-names.ts'
import { ageOf } from '../worker/worker-view.ts'

/** Where it is, and that it is to end before its time. */
export const statusOf = ({ status, desired_status }: LabletSession): string =>
  desired_status === 'RUNNING' || isOver(status) ? status : `${status} -> ${desired_status}`

const isOver = (status: SessionStatus): boolean => status === 'ARCHIVED' || status === 'TERMINATED'

/** `in 12m`, or `3m ago`. */
export function distanceOf(instant: Instant, nowMs: number): string {
  const ms = toMs(instant) - nowMs
  return ms > 0 ? `in ${formatDuration(ms)}` : `${formatDuration(-ms)} ago`
}

const TAKEN_DOWN = 'its lab is taken down'

/** What it waits for, as a sentence; empty when it waits for nothing. */
export function waitsFor(session: LabletSession, names = BY_ID): string {
  switch (session.status) {
    case 'PENDING':
      return session.waiting_reason ?? 'waiting for a place'
    case 'SCHEDULED':
      return session.waiting_reason ?? `it has a place on ${names.of(session.worker_id ?? '')} and waits for its time`
    case 'INSTANTIATING':
      return stepText(session) ?? (session.pipeline === null ? 'its lab is about to be started' : 'its lab is up')
    case 'READY':
      return stepText(session) ?? 'its lab is up and waits for its slot'
    case 'EXPIRED':
      return 'its time is over'
    case 'STOPPING':
      return stepText(session) ?? (session.pipeline === null ? 'its lab is about to be taken down' : TAKEN_DOWN)
    case 'STOPPED':
      return TAKEN_DOWN
    case 'RUNNING':
      return stepText(session) ?? ''
    case 'ARCHIVED':
      return ''
    case 'TERMINATED':
      return session.last_error ?? ''
  }
}

function stepText(session: LabletSession): string | null {
  const place = placeIn(session)
  if (place === null) return null
  const { step, number, count } = place
  const attempt = session.pipeline?.attempt ?? 1
  return [
    `step ${number} of ${count}, ${step.name}`,
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...nodesUp(step),
    ...(step.error === null ? [] : [step.error]),
  ].join(', ')
}

/** How far a lab has come up, where its step tells. */
function nodesUp({ status, output: { booted, nodes } }: Step): string[] {
  return status === 'running' && typeof booted === 'number' ? [`${booted} of ${nodes} nodes are up`] : []
}

/** The same in a word or two, for a table. */
export function stageOf(session: LabletSession): string {
  if (session.status === 'PENDING') return firstWords(session.waiting_reason ?? '')
  if (session.status === 'EXPIRED' || session.status === 'STOPPED' || isFinal(session.status)) return ''
  const place = placeIn(session)
  return place === null ? '' : `${place.step.name} ${place.number}/${place.count}`
}

const STAGE_CHARS_MAX = 32

/** As many of them as a table has room for. */
function firstWords(text: string): string {
  if (text.length <= STAGE_CHARS_MAX) return text
  const cut = text.slice(0, STAGE_CHARS_MAX - 1)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), STAGE_CHARS_MAX / 2)).trimEnd()}…`
}

/** When its time is over, or when it really was. */
export const endOf = ({ status, timeslot, entered_status_at }: LabletSession): Instant =>
  isFinal(status) && entered_status_at < timeslot.end ? entered_status_at : timeslot.end

/** A name tells people more than the id of a token; what was booked before names were kept has none. */
const ownerOf = ({ owner, owner_name }: LabletSession): string => owner_name || owner

export const sessionColumns = (nowMs: number, colors: Colors, names = BY_ID): readonly Column<LabletSession>[] => [
  { title: 'ID', text: session => session.id },
  { title: 'DEFINITION', text: ({ definition }) => `${definition.name} ${definition.version}` },
  { title: 'OWNER', text: ownerOf },
  { title: 'STATUS', text: statusOf, paint: (text, session) => statusColor(session.status, colors)(text) },
  { title: 'STAGE', text: stageOf },
  { title: 'WORKER', text: ({ worker_id }) => (worker_id === null ? '' : names.of(worker_id)) },
  {
    title: 'BEGINS',
    text: session =>
      isFinal(session.status) && endOf(session) < session.timeslot.start
        ? ''
        : distanceOf(session.timeslot.start, nowMs),
  },
  { title: 'ENDS', text: session => distanceOf(endOf(session), nowMs) },
  { title: 'AGE', text: session => ageOf(session.created_at, nowMs) },
]

type Door = LabletSession['access'][number]

const DOOR_COLUMNS: readonly Column<Door>[] = [
  { title: 'NAME', text: door => door.name },
  { title: 'NODE', text: door => door.node },
  { title: 'PROTOCOL', text: door => door.protocol },
  { title: 'OPEN WITH', text: accessLine },
]

/** Where people get into its lab; nothing when there is no way in, or not yet. */
export const accessLines = ({ access }: LabletSession): string[] =>
  access.length === 0 ? [] : tableLines(DOOR_COLUMNS, access)
