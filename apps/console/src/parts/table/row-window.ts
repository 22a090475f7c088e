/** Rows kept ready above and below what is seen, so that scrolling shows no gaps. */
const SPARE_ROWS = 5

/** Each step lays the whole table out anew, so there are few of them; spare rows cover what a step leaves out. */
const STEP_ROWS = 4

/** How far a list counts as scrolled: only whole steps render anything. */
export const steppedPx = (scrolledPx: number, rowPx: number): number =>
  Math.floor(Math.max(0, scrolledPx) / (STEP_ROWS * rowPx)) * STEP_ROWS * rowPx

export interface RowWindow {
  readonly first: number
  /** Exclusive. */
  readonly end: number
}

/** Which of `count` rows to render when the list's top is `scrolledPx` above a viewport of `viewportPx`. */
export function rowWindow(count: number, rowPx: number, scrolledPx: number, viewportPx: number): RowWindow {
  const firstSeen = Math.floor(Math.max(0, scrolledPx) / rowPx)
  const seen = Math.ceil(viewportPx / rowPx) + 1
  const first = Math.max(0, Math.min(firstSeen, count - seen) - SPARE_ROWS)
  return { first, end: Math.min(count, first + seen + 2 * SPARE_ROWS) }
}
