import { HIDDEN_CHARACTERS } from '@lcm/domain/text/hidden-characters'

export interface Column<T> {
  readonly title: string
  readonly text: (item: T) => string
  /** Colors the text of a cell without changing its width. */
  readonly paint?: (text: string, item: T) => string
  /** Numbers are aligned right. */
  readonly isNumber?: boolean
}

export const GAP = '   '

/** Makes untrusted text safe for a terminal: controls, line breaks and changes of direction become spaces. */
export const printable = (text: string): string => text.replaceAll(HIDDEN_CHARACTERS, ' ')

const widthOf = (text: string): number => [...text].length

/** Longer cells are shortened. */
const CELL_CHARS_MAX = 48

/** The text of a cell. The last cell of a row is not shortened. */
function cellOf<T>(columns: readonly Column<T>[], at: number, item: T): string {
  const text = printable(columns[at]?.text(item) ?? '') || '-'
  const isLast = at === columns.length - 1
  return isLast || widthOf(text) <= CELL_CHARS_MAX ? text : `${[...text].slice(0, CELL_CHARS_MAX - 1).join('')}…`
}

/** Column widths for the titles, these items and the previous widths. */
export const columnWidths = <T>(
  columns: readonly Column<T>[],
  items: readonly T[],
  before: readonly number[] = [],
): number[] =>
  columns.map((column, at) =>
    items.reduce(
      (width, item) => Math.max(width, widthOf(cellOf(columns, at, item))),
      Math.max(before[at] ?? 0, widthOf(column.title)),
    ),
  )

const line = (cells: readonly string[]): string => cells.join(GAP).trimEnd()
const padding = (text: string, width = 0): string => ' '.repeat(Math.max(0, width - widthOf(text)))

function placed<T>({ isNumber = false }: Column<T>, cell: { text: string; painted: string }, width = 0): string {
  const space = padding(cell.text, width)
  return isNumber ? space + cell.painted : cell.painted + space
}

export const titleLine = <T>(columns: readonly Column<T>[], widths: readonly number[]): string =>
  line(columns.map((column, at) => placed(column, { text: column.title, painted: column.title }, widths[at])))

/** One aligned line per item. Empty cells show a dash. */
export const rowLines = <T>(columns: readonly Column<T>[], items: readonly T[], widths: readonly number[]): string[] =>
  items.map(item =>
    line(
      columns.map((column, at) => {
        const text = cellOf(columns, at, item)
        return placed(column, { text, painted: column.paint?.(text, item) ?? text }, widths[at])
      }),
    ),
  )

export function tableLines<T>(columns: readonly Column<T>[], items: readonly T[]): string[] {
  const widths = columnWidths(columns, items)
  return [titleLine(columns, widths), ...rowLines(columns, items, widths)]
}
