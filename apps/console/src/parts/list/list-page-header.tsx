import type { RouteName } from '@lcm/contract/routes'
import type { ComponentChildren, JSX } from 'preact'
import type { LiveKind } from '../../state/live-state.ts'
import { isAllowed } from '../../state/permission.ts'
import { useConsole } from '../console-context.ts'
import { NamedIcon } from '../icons.tsx'

interface HeadlineProps {
  readonly title: string
  /** Short summary of the list. */
  readonly summary: ComponentChildren
  readonly children?: ComponentChildren
}

/** Header of a list page. */
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
  /** The button is hidden from users who may not call this route. */
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

/** Resources that the API has accepted but the event stream has not delivered yet. `of` is shown before the name. */
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
              Creating {of}
              <strong>{creation.name}</strong>…
            </span>
          </p>
        ))}
    </div>
  )
}
