import type { HealthStatus } from '@lcm/domain/health'
import { isFinal, type LabletSession, SESSION_STATUSES, type SessionStatus } from '@lcm/domain/session/lablet-session'
import { healthIn } from '../../../parts/list/filter-controls.tsx'
import { pageHash, type Query } from '../../../state/router.ts'
import { isRange, type Range } from './timeline-layout.ts'

export interface SessionFilter {
  /** Empty: all unfinished sessions. */
  readonly statuses: readonly SessionStatus[]
  readonly isMine: boolean
  /** Null: any. */
  readonly health: HealthStatus | null
  /** Name of a definition; empty for any. */
  readonly definition: string
  readonly text: string
  /** Length and start of the timeline; a null start follows the current time. */
  readonly range: Range
  readonly atMs: number | null
}

export const NO_FILTER: SessionFilter = {
  statuses: [],
  isMine: false,
  health: null,
  definition: '',
  text: '',
  range: '24h',
  atMs: null,
}

export function filterOf({ status, mine, health, definition = '', q = '', range = '', at }: Query): SessionFilter {
  const named = new Set(status?.split(','))
  const atMs = at === undefined ? Number.NaN : Date.parse(at)
  return {
    statuses: SESSION_STATUSES.filter(each => named.has(each)),
    isMine: mine === 'yes',
    health: healthIn(health),
    definition,
    text: q,
    range: isRange(range) ? range : NO_FILTER.range,
    atMs: Number.isNaN(atMs) ? null : atMs,
  }
}

export const sessionsHash = ({ statuses, isMine, health, definition, text, range, atMs }: SessionFilter): string =>
  pageHash('sessions', {
    status: statuses.join(','),
    mine: isMine ? 'yes' : '',
    health: health ?? '',
    definition,
    q: text,
    range: range === NO_FILTER.range ? '' : range,
    at: atMs === null ? '' : new Date(atMs).toISOString(),
  })

export const isFiltering = ({ statuses, isMine, health, definition, text }: SessionFilter): boolean =>
  statuses.length > 0 || isMine || health !== null || definition !== '' || text.trim() !== ''

interface Surroundings {
  /** Id of the current user. */
  readonly me: string
  readonly workerName: (id: string) => string
}

/** Ignores the status. The search covers ids, definition, owner and worker. */
export function matches(session: LabletSession, filter: SessionFilter, { me, workerName }: Surroundings): boolean {
  if (filter.isMine && session.owner !== me) return false
  if (filter.health !== null && session.health.status !== filter.health) return false
  if (filter.definition !== '' && session.definition.name !== filter.definition) return false
  const text = filter.text.trim().toLowerCase()
  if (text === '') return true
  const { id, definition, owner, owner_name, desired_by, reservation_id, worker_id } = session
  const known = [id, definition.name, owner, owner_name, desired_by, reservation_id, worker_id && workerName(worker_id)]
  return known.some(each => each?.toLowerCase().includes(text))
}

/** Finished sessions are listed only when their status is selected. */
export const isListed = ({ status }: LabletSession, { statuses }: SessionFilter): boolean =>
  statuses.length === 0 ? !isFinal(status) : statuses.includes(status)

/** The timeline shows finished sessions too. */
export const isDrawn = ({ status }: LabletSession, { statuses }: SessionFilter): boolean =>
  statuses.length === 0 || statuses.includes(status)
