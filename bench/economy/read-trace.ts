import { type Booking, LAB_SIZES, MINUTE_MS, TERM_MS } from './trace.ts'

const COLUMNS = [
  'id',
  'kind',
  'course',
  'lab',
  'booked_min',
  'start_min',
  'end_min',
  'cancel_min',
  'actual_end_min',
  'no_show',
] as const
type Column = (typeof COLUMNS)[number]

/** A trace that can't be read: where, why, and what to write there. */
export class TraceError extends Error {}

/** The lines of a CSV file with a header. Quotes are not supported: no column needs a comma. */
export function readTrace(text: string, file: string): Booking[] {
  const [header = '', ...lines] = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const columns = header.split(',').map(name => name.trim())
  const missing = COLUMNS.filter(name => !columns.includes(name))
  if (missing.length > 0)
    throw new TraceError(
      `${file}, line 1 has no ${missing.join(', ')}. Begin the file with this line: ${COLUMNS.join(',')}`,
    )
  const seen = new Map<string, number>()
  const bookings: Booking[] = []
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const number = index + 2
    const cells = line.split(',').map(cell => cell.trim())
    if (cells.length !== columns.length)
      throw new TraceError(
        `${file}, line ${number}: ${cells.length} cells, but the header has ${columns.length}. Write one for each column.`,
      )
    const booking = bookingOf(name => cells[columns.indexOf(name)] ?? '', { file, number })
    const before = seen.get(booking.id)
    if (before !== undefined)
      throw problem(
        { file, number },
        'id',
        `${booking.id} is used by line ${before} too. Give each booking its own id.`,
      )
    seen.set(booking.id, number)
    bookings.push(booking)
  }
  if (bookings.length === 0)
    throw new TraceError(`${file}: no booking. Add one line for each booking below the header.`)
  return bookings.sort((a, b) => a.startMs - b.startMs)
}

interface Line {
  readonly file: string
  readonly number: number
}

const problem = ({ file, number }: Line, column: Column, what: string): TraceError =>
  new TraceError(`${file}, line ${number}, column ${column}: ${what}`)

function bookingOf(cell: (column: Column) => string, line: Line): Booking {
  const minute = (column: Column) => TERM_MS + wholeNumber(cell(column), column, line) * MINUTE_MS
  const [bookedMs, startMs, endMs] = [minute('booked_min'), minute('start_min'), minute('end_min')]
  const leftMs = minute('actual_end_min')
  const canceledMs = cell('cancel_min') === '' ? null : minute('cancel_min')
  if (cell('id') === '') throw problem(line, 'id', 'it is empty. Give each booking its own id.')
  if (startMs < TERM_MS)
    throw problem(line, 'start_min', 'it is before the term. Write minutes since Monday 00:00 of the first week.')
  if (endMs <= startMs) throw problem(line, 'end_min', 'it is not after start_min. Write a later minute.')
  if (bookedMs > startMs) throw problem(line, 'booked_min', 'it is after start_min. Write start_min for a walk-in.')
  if (leftMs <= startMs || leftMs > endMs)
    throw problem(
      line,
      'actual_end_min',
      'it is not between start_min and end_min. Write end_min if the learner stayed.',
    )
  if (canceledMs !== null && (canceledMs < bookedMs || canceledMs > startMs))
    throw problem(
      line,
      'cancel_min',
      'it is not between booked_min and start_min. Leave it empty if it was not canceled.',
    )
  return {
    id: cell('id'),
    kind: oneOf(['class', 'self'], cell('kind'), 'kind', line),
    course: cell('course'),
    lab: oneOf(LAB_SIZES, cell('lab'), 'lab', line),
    bookedMs,
    startMs,
    endMs,
    canceledMs,
    leftMs,
    isNoShow: oneOf(['0', '1'], cell('no_show'), 'no_show', line) === '1',
  }
}

function wholeNumber(text: string, column: Column, line: Line): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text)
  throw problem(line, column, `"${text}" is not a whole number. Write minutes since Monday 00:00 of the first week.`)
}

function oneOf<T extends string>(allowed: readonly T[], text: string, column: Column, line: Line): T {
  const found = allowed.find(each => each === text)
  if (found !== undefined) return found
  throw problem(line, column, `"${text}" is unknown. Write ${allowed.join(' or ')}.`)
}
