import type { RouteName } from '@lcm/contract/routes'
import type { ComponentChildren, JSX } from 'preact'
import type { LiveKind } from '../../state/live-state.ts'
import { isAllowed } from '../../state/permission.ts'
import { useConsole } from '../console-context.ts'
import { NamedIcon } from '../icons.tsx'

interface HeadlineProps {
  readonly title: string
  /** What there is, in a few words. */
  readonly summary: ComponentChildren
  readonly children?: ComponentChildren
}

/** The top of a page that lists things. */
export const Headline = ({ title, summary, children }: HeadlineProps) => (
  <header class="headline">
    <div>
      <h1 tabIndex={-1}>{title}</h1>
      <p class="muted">{summary}</p>
    </div>
    {children}
  </header>
)

interface NewButtonProps {
  /** Only those who may call it are offered the button. */
  readonly route: RouteName
  readonly form: () => JSX.Element
  readonly children: ComponentChildren
}

export function NewButton({ route, form, children }: NewButtonProps) {
  const { state, dialog } = useConsole()
  if (!isAllowed(state.info.value, route)) return null
  return (
    <button
      type="button"
      class="button primary"
      onClick={() => {
        dialog.value = form()
      }}
    >
      <NamedIcon name="plus" />
      {children}
    </button>
  )
}

/** Accepted, but not yet seen on the stream: so it is no row. What it is of comes before the name. */
export function Creations({ kind, of = '' }: { kind: LiveKind; of?: string }) {
  const { requests } = useConsole()
  return (
    <div aria-live="polite">
      {requests.creations.value
        .filter(creation => creation.kind === kind)
        .map(creation => (
          <p key={creation.id} class="creation">
            <NamedIcon name="waiting" />
            <span>
              Asked for {of}
              <strong>{creation.name}</strong>…
            </span>
          </p>
        ))}
    </div>
  )
}

interface NoMatchProps {
  /** Where there is no filter. */
  readonly all: string
  /** Where nothing is filtered nothing can match: then `none` is said. */
  readonly isFiltered?: boolean
  readonly none?: ComponentChildren
  readonly children: ComponentChildren
}

/** Nothing matches the filter, or nothing is there. */
export function NoMatch({ all, isFiltered = true, none, children }: NoMatchProps) {
  const { router } = useConsole()
  if (!isFiltered) return <div class="no-match">{none}</div>
  return (
    <div class="no-match">
      <p>{children}</p>
      <button type="button" class="button" onClick={() => router.replace(all)}>
        Show all
      </button>
    </div>
  )
}
