import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'

const ROW_PX_GUESS = 52

/** Follows the page's scrolling. All rows must be equally high; how high is measured, as phones lay them out otherwise. */
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
  return { table, rowPx, ...shown }
}

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
