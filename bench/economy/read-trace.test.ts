import { describe, expect, it } from 'vitest'
import { readTrace, TraceError } from './read-trace.ts'
import { inWeeks, MINUTE_MS, TERM_MS, WEEK_MS } from './trace.ts'

const HEADER = 'id,kind,course,lab,booked_min,start_min,end_min,cancel_min,actual_end_min,no_show'
const GOOD = 's1,class,NET-1,small,-1000,60,180,,170,0'
const read = (...lines: readonly string[]) => readTrace([HEADER, ...lines].join('\n'), 'term.csv')
const errorOf = (text: string) => {
  try {
    readTrace(text, 'term.csv')
  } catch (error) {
    if (error instanceof TraceError) return error.message
    throw error
  }
  return null
}
const errorOfLine = (line: string) => errorOf([HEADER, GOOD, line].join('\n'))

describe('a trace', () => {
  it('has its times in minutes since Monday of the first week', () => {
    expect(read(GOOD)).toEqual([
      {
        id: 's1',
        kind: 'class',
        course: 'NET-1',
        lab: 'small',
        bookedMs: TERM_MS - 1000 * MINUTE_MS,
        startMs: TERM_MS + 60 * MINUTE_MS,
        endMs: TERM_MS + 180 * MINUTE_MS,
        canceledMs: null,
        leftMs: TERM_MS + 170 * MINUTE_MS,
        isNoShow: false,
      },
    ])
  })

  it('is read with Windows line ends, a byte order mark, spaces, empty lines and columns in another order', () => {
    const text = '\uFEFFno_show,actual_end_min,cancel_min,end_min,start_min,booked_min,lab,course,kind,id\r\n\r\n'
    const [booking] = readTrace(`${text}1, 90 ,30,90,60,0,large,X,self,a\r\n`, 'term.csv')
    expect(booking).toMatchObject({ id: 'a', isNoShow: true, canceledMs: TERM_MS + 30 * MINUTE_MS })
  })

  it('is sorted by start, and cut by weeks', () => {
    const week = WEEK_MS / MINUTE_MS
    const bookings = read(`b,self,X,small,${week},${week},${week + 60},,${week + 60},0`, GOOD)
    expect(bookings.map(({ id }) => id)).toEqual(['s1', 'b'])
    expect(inWeeks(bookings, 2, 2).map(({ id }) => id)).toEqual(['b'])
  })

  it('is refused with the line, the column and the next step', () => {
    expect(errorOf(HEADER.replace('lab,booked_min', 'size'))).toBe(
      `term.csv, line 1 has no lab, booked_min. Begin the file with this line: ${HEADER}`,
    )
    expect(errorOf('')).toContain('line 1 has no id, kind,')
    expect(errorOf(HEADER)).toBe('term.csv: no booking. Add one line for each booking below the header.')
    expect(errorOfLine('s2,class')).toBe('term.csv, line 3: 2 cells, but the header has 10. Write one for each column.')
    expect(errorOfLine('s2,class,NET-1,small,0,soon,180,,170,0')).toBe(
      'term.csv, line 3, column start_min: "soon" is not a whole number. Write minutes since Monday 00:00 of the first week.',
    )
    expect(errorOfLine('s2,lecture,NET-1,small,0,60,180,,170,0')).toBe(
      'term.csv, line 3, column kind: "lecture" is unknown. Write class or self.',
    )
    expect(errorOfLine(GOOD)).toBe(
      'term.csv, line 3, column id: s1 is used by line 2 too. Give each booking its own id.',
    )
  })

  it.each([
    [',class,N,small,0,60,180,,170,0', 'column id: it is empty'],
    ['s2,class,N,huge,0,60,180,,170,0', 'column lab: "huge" is unknown'],
    ['s2,class,N,small,-60,-9,180,,170,0', 'column start_min: it is before the term'],
    ['s2,class,N,small,0,60,60,,60,0', 'column end_min: it is not after start_min'],
    ['s2,class,N,small,61,60,180,,170,0', 'column booked_min: it is after start_min'],
    ['s2,class,N,small,0,60,180,,181,0', 'column actual_end_min: it is not between'],
    ['s2,class,N,small,0,60,180,61,170,0', 'column cancel_min: it is not between'],
    ['s2,class,N,small,0,60,1e99,,170,0', 'column end_min: "1e99" is not a whole number'],
    ['s2,class,N,small,0,60,,,170,0', 'column end_min: "" is not a whole number'],
    ['s2,class,N,small,0,60,180,,170,yes', 'column no_show: "yes" is unknown'],
  ])('refuses %s', (line, what) => {
    expect(errorOfLine(line)).toContain(`term.csv, line 3, ${what}`)
  })
})
