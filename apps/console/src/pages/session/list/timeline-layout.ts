import { toMs } from '@lcm/domain/instant'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { type LabelSide, type LabelSpace, labeledBar, withLabelSpace } from '../../../parts/labeled-bar.ts'
import { byStart, isCanceled } from '../session-text.ts'

const MINUTE_MS = 60_000
const QUARTER_MS = 15 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS

/** Length of each range, distance of its grid lines, and step in which it follows the current time. */
const RANGES = {
  '6h': { lengthMs: 6 * HOUR_MS, tickHours: 1, stepMs: 30 * MINUTE_MS },
  '24h': { lengthMs: 24 * HOUR_MS, tickHours: 3, stepMs: HOUR_MS },
  '7d': { lengthMs: 7 * 24 * HOUR_MS, tickHours: 24, stepMs: 6 * HOUR_MS },
} as const
export type Range = keyof typeof RANGES
export const RANGE_NAMES = Object.keys(RANGES) as Range[]
export const isRange = (text: string): text is Range => Object.hasOwn(RANGES, text)

export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** Without `atMs` the span follows the current time in steps, with a quarter of it in the past. */
export function spanOf(range: Range, atMs: number | null, nowMs: number): Span {
  const { lengthMs, stepMs } = RANGES[range]
  const fromMs = atMs ?? Math.floor(nowMs / stepMs) * stepMs - lengthMs / 4
  return { fromMs, toMs: fromMs + lengthMs }
}

/** Local time of a timestamp. */
type WallClock = (ms: number) => { readonly day: number; readonly hour: number; readonly minute: number }

const localClock: WallClock = ms => {
  const at = new Date(ms)
  return { day: at.getDate(), hour: at.getHours(), minute: at.getMinutes() }
}

/** Full hours or days in local time. A day may have 23 or 25 hours; zone offsets are multiples of 15 minutes. */
export function ticksOf({ fromMs, toMs: endMs }: Span, range: Range, clock = localClock): number[] {
  const { tickHours } = RANGES[range]
  const ticks: number[] = []
  for (let ms = (Math.floor(fromMs / QUARTER_MS) + 1) * QUARTER_MS; ms < endMs; ms += QUARTER_MS)
    if (isTick(ms, tickHours, clock)) ticks.push(ms)
  return ticks
}

/** A day starts at 01:00 where the clock changes at midnight. */
function isTick(ms: number, tickHours: number, clock: WallClock): boolean {
  const { day, hour, minute } = clock(ms)
  return tickHours === 24 ? day !== clock(ms - QUARTER_MS).day : minute === 0 && hour % tickHours === 0
}

export const shareOf = (ms: number, { fromMs, toMs: endMs }: Span): number => (ms - fromMs) / (endMs - fromMs)

/** Time in which the session holds its timeslot; null when it ended before its start. */
export function drawnSpan({ status, timeslot, entered_status_at }: LabletSession): Span | null {
  const [startMs, endMs] = [toMs(timeslot.start), toMs(timeslot.end)]
  const untilMs = isFinal(status) ? Math.min(endMs, toMs(entered_status_at)) : endMs
  return untilMs <= startMs ? null : { fromMs: startMs, toMs: untilMs }
}

/** Neither waiting nor placed: finished or canceled. */
const isAbandoned = (session: LabletSession): boolean => isFinal(session.status) || isCanceled(session)

export interface Bar extends LabelSpace {
  readonly session: LabletSession
  /** Line within the row: overlapping sessions have different lanes. */
  readonly lane: number
  /** Shares of the width. */
  readonly left: number
  readonly width: number
  readonly labelSide: LabelSide
  /** Whether the bar continues beyond the edge. */
  readonly isCutLeft: boolean
  readonly isCutRight: boolean
}

export interface TimelineRow {
  /** Null for sessions without a worker. */
  readonly workerId: string | null
  readonly bars: readonly Bar[]
  readonly lanes: number
  /** Number of sessions beyond the lane limit. */
  readonly hidden: number
}

/** Lanes per row at most; further sessions are in the table only. */
const LANES_MAX = 10

/** Visible sessions by worker. The row without a worker is always first. */
export function timelineRows(sessions: Iterable<LabletSession>, span: Span): TimelineRow[] {
  const byWorker = new Map<string | null, LabletSession[]>([[null, []]])
  for (const session of sessions) {
    const drawn = drawnSpan(session)
    if (session.worker_id === null && isAbandoned(session)) continue
    if (drawn === null || drawn.toMs <= span.fromMs || drawn.fromMs >= span.toMs) continue
    const held = byWorker.get(session.worker_id)
    if (held) held.push(session)
    else byWorker.set(session.worker_id, [session])
  }
  return [...byWorker].map(([workerId, held]) => rowOf(workerId, held, span))
}

function rowOf(workerId: string | null, sessions: readonly LabletSession[], span: Span): TimelineRow {
  const ends: number[] = []
  const bars: Omit<Bar, keyof LabelSpace>[] = []
  let hidden = 0
  for (const session of sessions.toSorted(byStart)) {
    const place = placeOf(session, span)
    const { from, to, labelSide } = labeledBar(place.left, place.width)
    const free = ends.findIndex(end => end <= from)
    const lane = free === -1 ? ends.length : free
    if (lane >= LANES_MAX) hidden++
    else {
      ends[lane] = to
      bars.push({ session, lane, ...place, labelSide })
    }
  }
  return { workerId, bars: withLabelSpace(bars), lanes: Math.max(1, ends.length), hidden }
}

/** Narrower bars could not be seen or clicked. */
const WIDTH_MIN = 0.02

function placeOf(session: LabletSession, span: Span): Pick<Bar, 'left' | 'width' | 'isCutLeft' | 'isCutRight'> {
  const drawn = drawnSpan(session) ?? span
  const [start, end] = [Math.max(0, shareOf(drawn.fromMs, span)), Math.min(1, shareOf(drawn.toMs, span))]
  const left = Math.min(start, 1 - WIDTH_MIN)
  return {
    left,
    width: Math.max(WIDTH_MIN, end - left),
    isCutLeft: drawn.fromMs < span.fromMs,
    isCutRight: drawn.toMs > span.toMs,
  }
}
