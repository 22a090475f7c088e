import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'

const ROW_PX_GUESS = 52

/**
 * Tracks which rows are visible. The rows of a long list must have the same height, which is measured because phones use
 * another layout.
 */
export function useRowWindow(count: number) {
  const table = useRef<HTMLTableElement>(null)
  const place = useSignal({ rowPx: ROW_PX_GUESS, scrolledPx: 0 })
  useLayoutEffect(() => {
    const measure = () => {
      const rowPx =
        table.current?.querySelector('tbody:not(.spacer) > tr')?.getBoundingClientRect().height ?? ROW_PX_GUESS
      const top = (table.current?.getBoundingClientRect().top ?? 0) + (table.current?.tHead?.offsetHeight ?? 0)
      const scrolledPx = steppedPx(-top, rowPx)
      if (rowPx !== place.peek().rowPx || scrolledPx !== place.peek().scrolledPx) place.value = { rowPx, scrolledPx }
    }
    measure()
    window.addEventListener('scroll', measure, { passive: true })
    window.addEventListener('resize', measure)
    return () => {
      window.removeEventListener('scroll', measure)
      window.removeEventListener('resize', measure)
    }
  }, [place])
  const { rowPx, scrolledPx } = place.value
  const shown: RowWindow = rowWindow(count, rowPx, scrolledPx, window.innerHeight)
  return { table, rowPx, isWhole: isWhole(count), ...shown }
}

/** Rows rendered above and below the viewport, so that scrolling shows no gaps. */
const SPARE_ROWS = 5

/** Each step lays out the whole table again, so a step covers several rows. */
const STEP_ROWS = 4

/** Scroll position rounded down to whole steps: only a new step renders. */
export const steppedPx = (scrolledPx: number, rowPx: number): number =>
  Math.floor(Math.max(0, scrolledPx) / (STEP_ROWS * rowPx)) * STEP_ROWS * rowPx

/** A list for a class is short enough to render every row, which may then be as high as its text. */
const WHOLE_ROWS_MAX = 60
const isWhole = (count: number): boolean => count <= WHOLE_ROWS_MAX

export interface RowWindow {
  readonly first: number
  /** Exclusive. */
  readonly end: number
}

/** Range of rows to render when the top of the list is `scrolledPx` above the viewport. */
export function rowWindow(count: number, rowPx: number, scrolledPx: number, viewportPx: number): RowWindow {
  if (isWhole(count)) return { first: 0, end: count }
  const firstSeen = Math.floor(Math.max(0, scrolledPx) / rowPx)
  const seen = Math.ceil(viewportPx / rowPx) + 1
  const first = Math.max(0, Math.min(firstSeen, count - seen) - SPARE_ROWS)
  return { first, end: Math.min(count, first + seen + 2 * SPARE_ROWS) }
}
