import { LAB_STATUSES, type LabRecord, type LabStatus } from '@lcm/domain/lab/lab-record'
import { pageHash, type Query } from '../../state/router.ts'

export interface LabFilter {
  readonly text: string
  readonly statuses: readonly LabStatus[]
  readonly workerId: string
  /** Filters by labs with or without a session; null for both. */
  readonly isBound: boolean | null
}

export const NO_FILTER: LabFilter = { text: '', statuses: [], workerId: '', isBound: null }

export function filterOf(query: Query): LabFilter {
  const named = (query.status ?? '').split(',')
  return {
    text: query.q ?? '',
    statuses: LAB_STATUSES.filter(status => named.includes(status)),
    workerId: query.worker ?? '',
    isBound: query.bound === 'yes' ? true : query.bound === 'no' ? false : null,
  }
}

export const labsHash = ({ text, statuses, workerId, isBound }: LabFilter): string =>
  pageHash('labs', {
    q: text,
    status: statuses.join(','),
    worker: workerId,
    bound: isBound === null ? '' : isBound ? 'yes' : 'no',
  })

export const isFiltering = ({ text, statuses, workerId, isBound }: LabFilter): boolean =>
  text.trim() !== '' || statuses.length > 0 || workerId !== '' || isBound !== null

/** Deleted labs are listed only when this status is selected. */
export function matches(lab: LabRecord, filter: LabFilter, workerName: string): boolean {
  const { text, statuses, workerId, isBound } = filter
  if (statuses.length === 0 ? lab.status === 'DELETED' : !statuses.includes(lab.status)) return false
  if (workerId !== '' && lab.worker_id !== workerId) return false
  if (isBound !== null && (lab.session_id !== null) !== isBound) return false
  const known = [lab.title, lab.id, lab.lab_id, lab.owner, lab.session_id, workerName]
  return known.join('\n').toLowerCase().includes(text.trim().toLowerCase())
}

/** Pending and failed labs first, then by title. */
export const inOrder = (labs: readonly LabRecord[]): LabRecord[] =>
  labs.toSorted((a, b) => rankOf(a) - rankOf(b) || a.title.localeCompare(b.title) || a.id.localeCompare(b.id))

const rankOf = ({ status, pending_action, last_error }: LabRecord): number => {
  if (status === 'ERROR' || pending_action?.error != null || last_error !== null) return 0
  return pending_action === null ? 2 : 1
}
