import type { Worker } from '@lcm/domain/worker/worker'
import type { TimelineRow } from './timeline-layout.ts'

/** Workers without a session are added up to this many rows. */
const ROWS_MAX = 200

const byName = new Intl.Collator('en', { numeric: true })

/** Waiting sessions first, then workers by name. With a filter, workers without a match are left out. */
export function orderedRows(
  rows: readonly TimelineRow[],
  workers: ReadonlyMap<string, Pick<Worker, 'id' | 'name' | 'status'>>,
  isFiltering: boolean,
): { readonly shown: readonly TimelineRow[]; readonly more: number } {
  const used = new Set(rows.map(({ workerId }) => workerId))
  const free = [...workers.values()].filter(({ id, status }) => status !== 'TERMINATED' && !used.has(id))
  const freeRows = isFiltering ? 0 : Math.max(0, ROWS_MAX - rows.length)
  const byNames = free.toSorted((a, b) => byName.compare(a.name, b.name)).slice(0, freeRows)
  const nameOf = ({ workerId }: TimelineRow) => workers.get(workerId ?? '')?.name ?? workerId ?? ''
  const shown = [...rows, ...byNames.map(({ id }): TimelineRow => ({ workerId: id, bars: [], lanes: 1, hidden: 0 }))]
  return {
    shown: shown.toSorted((a, b) =>
      a.workerId === null ? -1 : b.workerId === null ? 1 : byName.compare(nameOf(a), nameOf(b)),
    ),
    more: isFiltering ? 0 : free.length - byNames.length,
  }
}
