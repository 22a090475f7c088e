import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { type RowWindow, rowWindow, steppedPx } from './row-window.ts'

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
