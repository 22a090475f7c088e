import type { JSX } from 'preact'
import { RowSpacer } from './row-spacer.tsx'
import { TableHead } from './table-head.tsx'
import { useRowWindow } from './use-row-window.ts'

interface WindowedTableProps<T> {
  readonly class: string
  readonly columns: readonly string[]
  readonly items: readonly T[]
  /** Renders a `<tr>`; `rowIndex` is for `aria-rowindex`. */
  readonly row: (item: T, rowIndex: number) => JSX.Element
  /** Id of the labeling element. */
  readonly labelledBy?: string
}

/** Renders only the rows near the viewport. */
export function WindowedTable<T>({ class: name, columns, items, row, labelledBy }: WindowedTableProps<T>) {
  const { table, first, end, rowPx, isWhole } = useRowWindow(items.length)
  return (
    <table
      ref={table}
      class={`${name} ${isWhole ? 'whole' : ''}`}
      aria-rowcount={items.length + 1}
      aria-labelledby={labelledBy}
    >
      <TableHead columns={columns} isClassed />
      <RowSpacer rows={first} rowPx={rowPx} columns={columns.length} />
      <tbody>{items.slice(first, end).map((item, index) => row(item, first + index + 2))}</tbody>
      <RowSpacer rows={items.length - end} rowPx={rowPx} columns={columns.length} />
    </table>
  )
}
