import { toMs } from '@lcm/domain/instant'
import { isFinal, type LabletSession, SESSION_STATUSES, type SessionStatus } from '@lcm/domain/session/lablet-session'
import { type LabelSide, type LabelSpace, labeledBar, withLabelSpace } from '../../parts/labeled-bar.ts'

export interface Day {
  readonly startMs: number
  readonly endMs: number
}

/** The day in the browser's time zone, which may have 23 or 25 hours. */
export function dayOf(nowMs: number): Day {
  const start = new Date(nowMs)
  start.setHours(0, 0, 0, 0)
  const end = new Date(start)
  end.setDate(end.getDate() + 1)
  return { startMs: start.getTime(), endMs: end.getTime() }
}

/** Position of a time within the day: 0 at its start, 1 at its end. */
export const placeOf = (ms: number, { startMs, endMs }: Day): number =>
  Math.min(1, Math.max(0, (ms - startMs) / (endMs - startMs)))

const HOURS = [0, 3, 6, 9, 12, 15, 18, 21, 24]

/** Every third hour in the browser's time zone, with its position. */
export const hoursOf = (
  day: Day,
  atHour = (hour: number) => new Date(day.startMs).setHours(hour, 0, 0, 0),
): { readonly hour: number; readonly place: number }[] =>
  HOURS.map(hour => ({ hour, place: placeOf(atHour(hour), day) }))

export interface Bar extends LabelSpace {
  readonly session: LabletSession
  /** Row of the bar, from the top, starting at 0. */
  readonly lane: number
  readonly left: number
  readonly width: number
  readonly labelSide: LabelSide
}

export interface Today {
  readonly bars: readonly Bar[]
  readonly laneCount: number
  /** In the order of the session's lifecycle. */
  readonly counts: readonly { readonly status: SessionStatus; readonly count: number }[]
}

/** Narrower bars could not be seen or clicked. */
const WIDTH_MIN = 0.012
const GAP = 0.002

/** Arranges the sessions of a day in as few lanes as possible. */
export function todayOf(sessions: Iterable<LabletSession>, day: Day): Today {
  const found = [...sessions]
    .map(session => ({ session, startMs: toMs(session.timeslot.start), endMs: endOf(session) }))
    .filter(({ startMs, endMs }) => endMs > startMs && startMs < day.endMs && endMs > day.startMs)
    .toSorted((a, b) => a.startMs - b.startMs || a.session.id.localeCompare(b.session.id))
  const laneEnds: number[] = []
  const placed = found.map(({ session, startMs, endMs }) => {
    const left = Math.min(placeOf(startMs, day), 1 - WIDTH_MIN)
    const width = Math.max(WIDTH_MIN, placeOf(endMs, day) - left)
    const { from, to, labelSide } = labeledBar(left, width)
    const free = laneEnds.findIndex(end => end <= from)
    const lane = free === -1 ? laneEnds.length : free
    laneEnds[lane] = to + GAP
    return { session, lane, left, width, labelSide }
  })
  const bars = withLabelSpace(placed)
  return { bars, laneCount: laneEnds.length, counts: countsOf(bars) }
}

/** A finished session may have ended early, or before its start. */
function endOf({ status, timeslot, entered_status_at }: LabletSession): number {
  return isFinal(status) ? Math.min(toMs(timeslot.end), toMs(entered_status_at)) : toMs(timeslot.end)
}

function countsOf(bars: readonly Bar[]): Today['counts'] {
  return SESSION_STATUSES.flatMap(status => {
    const count = bars.filter(({ session }) => session.status === status).length
    return count === 0 ? [] : [{ status, count }]
  })
}
