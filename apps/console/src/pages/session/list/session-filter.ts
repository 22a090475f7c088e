import { isFinal, type LabletSession, SESSION_STATUSES, type SessionStatus } from '@lcm/domain/session/lablet-session'
import { pageHash, type Query } from '../../../state/router.ts'
import { isRange, type Range } from './timeline-layout.ts'

export interface SessionFilter {
  /** Empty means: all that are not over. */
  readonly statuses: readonly SessionStatus[]
  readonly isMine: boolean
  /** The name of a definition; empty for any. */
  readonly definition: string
  readonly text: string
  /** How much of time is drawn, from when on; null keeps up with the present. */
  readonly range: Range
  readonly atMs: number | null
}

export const NO_FILTER: SessionFilter = {
  statuses: [],
  isMine: false,
  definition: '',
  text: '',
  range: '24h',
  atMs: null,
}

export function filterOf({ status, mine, definition = '', q = '', range = '', at }: Query): SessionFilter {
  const named = new Set(status?.split(','))
  const atMs = at === undefined ? Number.NaN : Date.parse(at)
  return {
    statuses: SESSION_STATUSES.filter(each => named.has(each)),
    isMine: mine === 'yes',
    definition,
    text: q,
    range: isRange(range) ? range : NO_FILTER.range,
    atMs: Number.isNaN(atMs) ? null : atMs,
  }
}

export const sessionsHash = ({ statuses, isMine, definition, text, range, atMs }: SessionFilter): string =>
  pageHash('sessions', {
    status: statuses.join(','),
    mine: isMine ? 'yes' : '',
    definition,
    q: text,
    range: range === NO_FILTER.range ? '' : range,
    at: atMs === null ? '' : new Date(atMs).toISOString(),
  })

export const isFiltering = ({ statuses, isMine, definition, text }: SessionFilter): boolean =>
  statuses.length > 0 || isMine || definition !== '' || text.trim() !== ''

interface Surroundings {
  /** Whose sessions are `mine`. */
  readonly me: string
  readonly workerName: (id: string) => string
}

/** Whatever its status. The search covers what a person may know a session by. */
export function matches(session: LabletSession, filter: SessionFilter, { me, workerName }: Surroundings): boolean {
  if (filter.isMine && session.owner !== me) return false
  if (filter.definition !== '' && session.definition.name !== filter.definition) return false
  const text = filter.text.trim().toLowerCase()
  if (text === '') return true
  const { id, definition, owner, owner_name, desired_by, reservation_id, worker_id } = session
  const known = [id, definition.name, owner, owner_name, desired_by, reservation_id, worker_id && workerName(worker_id)]
  return known.some(each => each?.toLowerCase().includes(text))
}

/** What is over is listed only when it is asked for. */
export const isListed = ({ status }: LabletSession, { statuses }: SessionFilter): boolean =>
  statuses.length === 0 ? !isFinal(status) : statuses.includes(status)

/** A timeline shows the past as well. */
export const isDrawn = ({ status }: LabletSession, { statuses }: SessionFilter): boolean =>
  statuses.length === 0 || statuses.includes(status)
