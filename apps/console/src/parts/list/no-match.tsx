import type { ComponentChildren } from 'preact'
import { useConsole } from '../console-context.ts'

interface NoMatchProps {
  /** Address without a filter. */
  readonly all: string
  /** Without a filter, `none` is shown. */
  readonly isFiltered?: boolean
  readonly none?: ComponentChildren
  readonly children: ComponentChildren
}

/** Shown when the list is empty, with a button that clears the filter. */
export function NoMatch({ all, isFiltered = true, none, children }: NoMatchProps) {
  const { router } = useConsole()
  if (!isFiltered) return <div class="no-match">{none}</div>
  return (
    <div class="no-match">
      <p>{children}</p>
      <button type="button" class="button" onClick={() => router.replace(all)}>
        Clear filters
      </button>
    </div>
  )
}
