import { useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import {
  ACTION_TEXTS,
  availableActions,
  type DefinitionAction,
  fullName,
  requestDefinitionAction,
} from './definition-actions.ts'
import { EditDialog } from './definition-dialog.tsx'
import type { Definition } from './definition-groups.ts'
import { PreviewDialog } from './placement-details.tsx'

interface ActionsProps {
  readonly definition: Definition
  /** Actions to hide. */
  readonly without?: readonly DefinitionAction[]
}

export function DefinitionActions({ definition, without = [] }: ActionsProps) {
  const { state } = useConsole()
  return (
    <span class="actions">
      {availableActions(definition, state.info.value)
        .filter(action => !without.includes(action))
        .map(action => (
          <ActionButton key={action} definition={definition} action={action} />
        ))}
    </span>
  )
}

/** Uses `aria-disabled`: a `disabled` button would lose the keyboard focus. */
function ActionButton({ definition, action }: { definition: Definition; action: DefinitionAction }) {
  const { requests, dialog } = useConsole()
  const { label, verb, help } = ACTION_TEXTS[action]
  const pending = requests.pendingVerbOf(definition.id)
  const begin = () => {
    if (action === 'sync') requestDefinitionAction(requests, definition, action)
    else dialog.value = dialogOf(definition, action)
  }
  const isDanger = action === 'deprecate' || action === 'delete'
  return (
    <button
      type="button"
      class={`button small ${isDanger ? 'danger' : ''} ${pending === verb ? 'requested' : ''}`}
      aria-disabled={pending !== null && action !== 'preview'}
      title={help}
      onClick={() => (pending === null || action === 'preview') && begin()}
    >
      {pending === verb ? 'Requested…' : label}
      <span class="sr-only"> {fullName(definition)}</span>
    </button>
  )
}

function dialogOf(definition: Definition, action: Exclude<DefinitionAction, 'sync'>) {
  if (action === 'preview') return <PreviewDialog id={definition.id} />
  if (action === 'edit') return <EditDialog id={definition.id} />
  return action === 'deprecate' ? <DeprecateDialog definition={definition} /> : <DeleteDialog definition={definition} />
}

function DeprecateDialog({ definition }: { definition: Definition }) {
  const { requests } = useConsole()
  return (
    <ConfirmDialog
      title={`Deprecate ${fullName(definition)}?`}
      verb="Deprecate"
      typed={null}
      onConfirm={() => requestDefinitionAction(requests, definition, 'deprecate')}
    >
      <p>It can no longer be booked. Existing sessions continue until they end.</p>
      <p class="muted">This can't be undone. A new definition needs another name.</p>
    </ConfirmDialog>
  )
}

function DeleteDialog({ definition }: { definition: Definition }) {
  const { requests } = useConsole()
  return (
    <ConfirmDialog
      title={`Delete ${fullName(definition)}?`}
      verb="Delete"
      typed={definition.name}
      onConfirm={() => requestDefinitionAction(requests, definition, 'delete')}
    >
      <p>
        Its topology is deleted. <strong>This can't be undone.</strong> LCM refuses while a session uses it.
      </p>
    </ConfirmDialog>
  )
}
