import type { WorkerView } from '@lcm/contract/worker'
import type { Signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { NamedIcon } from '../../../parts/icons.tsx'
import { RowSpacer } from '../../../parts/table/row-spacer.tsx'
import { useRowWindow } from '../../../parts/table/use-row-window.ts'
import { canSeeAllSessions } from '../../../state/permission.ts'
import { type RowSlots, rowSlots } from './row-recycling.ts'
import { allToggled, type Selection, toggled, withRange } from './selection.ts'
import { WorkerRow } from './worker-row.tsx'
import { nextSort, type Sort, type SortColumn } from './worker-sort.ts'

const COLUMNS: readonly (readonly [column: SortColumn, title: string])[] = [
  ['name', 'Worker'],
  ['status', 'Status'],
  ['stage', 'Stage'],
  ['region', 'Region'],
  ['type', 'Type'],
  ['cpu', 'CPU'],
  ['memory', 'Memory'],
  ['labs', 'Labs'],
  ['sessions', 'Sessions'],
  ['idle', 'Idle for'],
  ['cost', 'Cost'],
]
/** Plus the columns for selection and actions. */
const COLUMN_COUNT = COLUMNS.length + 2

interface TableProps {
  readonly workers: readonly WorkerView[]
  readonly sort: Sort
  readonly onSort: (sort: Sort) => void
  /** Null for read-only users. */
  readonly selection: Signal<Selection> | null
}

/** Renders only the rows near the viewport. */
export function WorkerTable({ workers, sort, onSort, selection }: TableProps) {
  const { table, first, end, rowPx, isWhole } = useRowWindow(workers.length)
  const seesAll = canSeeAllSessions(useConsole().state.info.value)
  const newest = useRef(workers)
  newest.current = workers
  const slots = useRef<RowSlots | null>(null)
  slots.current ??= rowSlots()
  const shown = workers.slice(first, end)
  const keys = slots.current.of(shown.map(({ id }) => id))
  const tick = useRef(selectorOf(selection, newest)).current
  return (
    <table
      ref={table}
      class={`table workers worker-table ${seesAll ? '' : 'own-sessions'} ${isWhole ? 'whole' : ''}`}
      aria-rowcount={workers.length + 1}
      aria-label="Workers"
    >
      <thead>
        <tr>
          <th scope="col" class="col-tick">
            {selection && <SelectAll workers={workers} selection={selection} />}
          </th>
          {COLUMNS.map(([column, title]) => (
            <ColumnHead
              key={column}
              column={column}
              title={column === 'sessions' && !seesAll ? 'My sessions' : title}
              sort={sort}
              onSort={onSort}
            />
          ))}
          <th scope="col" class="col-actions">
            <span class="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <RowSpacer rows={first} rowPx={rowPx} columns={COLUMN_COUNT} />
      <tbody>
        {shown.map((worker, index) => (
          <WorkerRow
            key={keys[index]}
            worker={worker}
            rowIndex={first + index + 2}
            selection={selection}
            onTick={tick}
          />
        ))}
      </tbody>
      <RowSpacer rows={workers.length - end} rowPx={rowPx} columns={COLUMN_COUNT} />
    </table>
  )
}

/** Selects one row or, with Shift, the range since the last one. */
function selectorOf(selection: Signal<Selection> | null, newest: { readonly current: readonly WorkerView[] }) {
  let last: string | null = null
  return (id: string, isRange: boolean) => {
    if (selection === null) return
    const before = selection.peek()
    const ids = () => newest.current.map(worker => worker.id)
    selection.value = isRange ? withRange(before, ids(), last, id) : toggled(before, id)
    last = id
  }
}

interface ColumnHeadProps {
  readonly column: SortColumn
  readonly title: string
  readonly sort: Sort
  readonly onSort: (sort: Sort) => void
}

function ColumnHead({ column, title, sort, onSort }: ColumnHeadProps) {
  const isSorted = sort.by === column
  return (
    <th
      scope="col"
      class={`col-${column}`}
      aria-sort={isSorted ? (sort.isDescending ? 'descending' : 'ascending') : undefined}
    >
      <button type="button" class="sort" onClick={() => onSort(nextSort(sort, column))}>
        {title}
        {isSorted && <NamedIcon name={sort.isDescending ? 'down' : 'up'} />}
      </button>
    </th>
  )
}

function SelectAll({ workers, selection }: { workers: readonly WorkerView[]; selection: Signal<Selection> }) {
  const ticked = workers.reduce((count, { id }) => count + (selection.value.has(id) ? 1 : 0), 0)
  const toggle = () => {
    selection.value = allToggled(
      selection.peek(),
      workers.map(({ id }) => id),
    )
  }
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={ticked > 0 && ticked === workers.length}
        indeterminate={ticked > 0 && ticked < workers.length}
        onChange={toggle}
      />
      <span class="sr-only">Select all workers</span>
    </label>
  )
}
