import { countText } from '@lcm/domain/text/amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Signal } from '@preact/signals'
import { useConsole } from '../../../parts/console-context.ts'
import { ACTION_TEXTS } from '../actions/worker-actions.ts'
import { BULK_ACTIONS } from './bulk-action.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import type { Selection } from './selection.ts'

/** What may be done with all that are ticked. Those that the filter hides are left alone. */
export function BulkBar({ workers, selection }: { workers: readonly Worker[]; selection: Signal<Selection> }) {
  const { dialog } = useConsole()
  const ticked = workers.filter(({ id }) => selection.value.has(id))
  if (ticked.length === 0) return null
  const clear = () => {
    selection.value = new Set()
  }
  return (
    <section class="bulk" aria-label="Ticked workers">
      <p class="bulk-count" aria-live="polite">
        <strong class="number">{ticked.length}</strong> ticked
      </p>
      {BULK_ACTIONS.map(action => (
        <button
          key={action}
          type="button"
          class={`button small ${action === 'terminate' ? 'danger' : ''}`}
          onClick={() => {
            dialog.value = <BulkDialog workers={ticked} action={action} onDone={clear} />
          }}
        >
          {ACTION_TEXTS[action].label.replace('…', '')}
          <span class="sr-only"> {countText(ticked.length, 'worker')}</span>
        </button>
      ))}
      <button type="button" class="button small bulk-clear" onClick={clear}>
        Clear
      </button>
    </section>
  )
}
