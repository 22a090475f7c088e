import { useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { ACT_WORDS, actsOf, askDefinition, type DefinitionAct, fullName } from './definition-actions.ts'
import { EditDialog } from './definition-dialog.tsx'
import type { Definition } from './definition-groups.ts'
import { PreviewDialog } from './placement-view.tsx'

interface ActionsProps {
  readonly definition: Definition
  /** What is on the page anyway. */
  readonly without?: readonly DefinitionAct[]
}

export function DefinitionActions({ definition, without = [] }: ActionsProps) {
  const { state } = useConsole()
  return (
    <span class="actions">
      {actsOf(definition, state.info.value)
        .filter(act => !without.includes(act))
        .map(act => (
          <ActButton key={act} definition={definition} act={act} />
        ))}
    </span>
  )
}

/** A barred button keeps the keyboard's focus, which `disabled` would throw away. */
function ActButton({ definition, act }: { definition: Definition; act: DefinitionAct }) {
  const { asks, dialog } = useConsole()
  const { label, verb, help } = ACT_WORDS[act]
  const asked = asks.verbOf(definition.id)
  const begin = () => {
    if (act === 'sync') askDefinition(asks, definition, act)
    else dialog.value = dialogOf(definition, act)
  }
  const isDanger = act === 'deprecate' || act === 'delete'
  return (
    <button
      type="button"
      class={`button small ${isDanger ? 'danger' : ''} ${asked === verb ? 'asked' : ''}`}
      aria-disabled={asked !== null && act !== 'preview'}
      title={help}
      onClick={() => (asked === null || act === 'preview') && begin()}
    >
      {asked === verb ? 'Asked…' : label}
      <span class="sr-only"> {fullName(definition)}</span>
    </button>
  )
}

function dialogOf(definition: Definition, act: Exclude<DefinitionAct, 'sync'>) {
  if (act === 'preview') return <PreviewDialog id={definition.id} />
  if (act === 'edit') return <EditDialog id={definition.id} />
  return act === 'deprecate' ? <DeprecateDialog definition={definition} /> : <DeleteDialog definition={definition} />
}

function DeprecateDialog({ definition }: { definition: Definition }) {
  const { asks } = useConsole()
  return (
    <ConfirmDialog
      title={`Deprecate ${fullName(definition)}?`}
      verb="Deprecate"
      typed={null}
      onConfirm={() => askDefinition(asks, definition, 'deprecate')}
    >
      <p>Nobody can book it any more. Sessions that have it go on to their end.</p>
      <p class="muted">It can't be taken back; a new definition would need another name.</p>
    </ConfirmDialog>
  )
}

function DeleteDialog({ definition }: { definition: Definition }) {
  const { asks } = useConsole()
  return (
    <ConfirmDialog
      title={`Delete ${fullName(definition)}?`}
      verb="Delete"
      typed={definition.name}
      onConfirm={() => askDefinition(asks, definition, 'delete')}
    >
      <p>
        Its topology is forgotten. <strong>This can't be undone.</strong> It is refused while a session still has it.
      </p>
    </ConfirmDialog>
  )
}
