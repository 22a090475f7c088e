import { toMs } from '@lcm/domain/instant'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { byStart, isCanceled } from '../session-text.ts'

const MINUTE_MS = 60_000
const QUARTER_MS = 15 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS

/** How much is seen at once, how often there is a line, and in which steps the present is kept up with. */
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

/** Without a beginning it keeps up with the present, of which a quarter lies behind; in steps, so that bars rest in between. */
export function spanOf(range: Range, atMs: number | null, nowMs: number): Span {
  const { lengthMs, stepMs } = RANGES[range]
  const fromMs = atMs ?? Math.floor(nowMs / stepMs) * stepMs - lengthMs / 4
  return { fromMs, toMs: fromMs + lengthMs }
}

/** What a clock on a wall shows. */
type WallClock = (ms: number) => { readonly day: number; readonly hour: number; readonly minute: number }

const readersClock: WallClock = ms => {
  const at = new Date(ms)
  return { day: at.getDate(), hour: at.getHours(), minute: at.getMinutes() }
}

/** Whole hours and days where the reader is. A day may have 23 or 25 hours; no zone is finer than a quarter of one. */
export function ticksOf({ fromMs, toMs: endMs }: Span, range: Range, clock = readersClock): number[] {
  const { tickHours } = RANGES[range]
  const ticks: number[] = []
  for (let ms = (Math.floor(fromMs / QUARTER_MS) + 1) * QUARTER_MS; ms < endMs; ms += QUARTER_MS)
    if (isTick(ms, tickHours, clock)) ticks.push(ms)
  return ticks
}

/** Where clocks are set at midnight a day may begin at one. */
function isTick(ms: number, tickHours: number, clock: WallClock): boolean {
  const { day, hour, minute } = clock(ms)
  return tickHours === 24 ? day !== clock(ms - QUARTER_MS).day : minute === 0 && hour % tickHours === 0
}

export const shareOf = (ms: number, { fromMs, toMs: endMs }: Span): number => (ms - fromMs) / (endMs - fromMs)

/** When it holds, or held, its slot; null for one that was given up before it began. */
export function drawnSpan({ status, timeslot, entered_status_at }: LabletSession): Span | null {
  const [startMs, endMs] = [toMs(timeslot.start), toMs(timeslot.end)]
  const untilMs = isFinal(status) ? Math.min(endMs, toMs(entered_status_at)) : endMs
  return untilMs <= startMs ? null : { fromMs: startMs, toMs: untilMs }
}

/** Without a worker it waits for one, unless nobody wants it any more. */
const isAbandoned = (session: LabletSession): boolean => isFinal(session.status) || isCanceled(session)

export interface Bar {
  readonly session: LabletSession
  /** Which of the lines of its row; sessions that overlap lie on different ones. */
  readonly lane: number
  /** Shares of the width. */
  readonly left: number
  readonly width: number
  /** What was cut off at the edges. */
  readonly isCutLeft: boolean
  readonly isCutRight: boolean
}

export interface TimelineRow {
  /** Null for what has no worker. */
  readonly workerId: string | null
  readonly bars: readonly Bar[]
  readonly lanes: number
  /** How many more there are than fit. */
  readonly hidden: number
}

/** A row that is taller than this would hide all others; the rest is in the table. */
const LANES_MAX = 10
/** The least that a bar takes, as a share of the width, so that its shape is seen. */
const SHARE_MIN = 1 / 50

/** Those that are seen, by worker; the row of what has no worker comes first, also when it is empty. */
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
  const bars: Bar[] = []
  let hidden = 0
  for (const session of sessions.toSorted(byStart)) {
    const place = placeOf(session, span)
    const free = ends.findIndex(end => end <= place.left)
    const lane = free === -1 ? ends.length : free
    if (lane >= LANES_MAX) hidden++
    else {
      ends[lane] = place.left + Math.max(place.width, SHARE_MIN)
      bars.push({ session, lane, ...place })
    }
  }
  return { workerId, bars, lanes: Math.max(1, ends.length), hidden }
}

function placeOf(session: LabletSession, span: Span): Omit<Bar, 'session' | 'lane'> {
  const drawn = drawnSpan(session) ?? span
  const [left, right] = [Math.max(0, shareOf(drawn.fromMs, span)), Math.min(1, shareOf(drawn.toMs, span))]
  return { left, width: right - left, isCutLeft: drawn.fromMs < span.fromMs, isCutRight: drawn.toMs > span.toMs }
}
