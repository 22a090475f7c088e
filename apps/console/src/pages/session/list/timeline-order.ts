import type { Worker } from '@lcm/domain/worker/worker'
import type { TimelineRow } from './timeline-layout.ts'

/** Workers without a session are shown up to this many rows: they are room that is free, but not worth a thousand rows. */
const ROWS_MAX = 200

const byName = new Intl.Collator('en', { numeric: true })

/** What waits first, then workers by name; who looks for something sees only where it is. */
export function orderedRows(
  rows: readonly TimelineRow[],
  workers: ReadonlyMap<string, Pick<Worker, 'id' | 'name' | 'status'>>,
  isFiltering: boolean,
): { readonly shown: readonly TimelineRow[]; readonly more: number } {
  const used = new Set(rows.map(({ workerId }) => workerId))
  const free = [...workers.values()].filter(({ id, status }) => status !== 'TERMINATED' && !used.has(id))
  const room = isFiltering ? 0 : Math.max(0, ROWS_MAX - rows.length)
  const byNames = free.toSorted((a, b) => byName.compare(a.name, b.name)).slice(0, room)
  const nameOf = ({ workerId }: TimelineRow) => workers.get(workerId ?? '')?.name ?? workerId ?? ''
  const shown = [...rows, ...byNames.map(({ id }): TimelineRow => ({ workerId: id, bars: [], lanes: 1, hidden: 0 }))]
  return {
    shown: shown.toSorted((a, b) =>
      a.workerId === null ? -1 : b.workerId === null ? 1 : byName.compare(nameOf(a), nameOf(b)),
    ),
    more: isFiltering ? 0 : free.length - byNames.length,
  }
}
