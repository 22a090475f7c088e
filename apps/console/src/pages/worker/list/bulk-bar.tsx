import { countText } from '@lcm/domain/text/format-amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Signal } from '@preact/signals'
import { useConsole } from '../../../parts/console-context.ts'
import { ACTION_TEXTS } from '../actions/worker-actions.ts'
import { BULK_ACTIONS } from './bulk-action.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import type { Selection } from './selection.ts'

/** Actions for the selected workers. Workers hidden by the filter are not affected. */
export function BulkBar({ workers, selection }: { workers: readonly Worker[]; selection: Signal<Selection> }) {
  const { dialog } = useConsole()
  const selected = workers.filter(({ id }) => selection.value.has(id))
  if (selected.length === 0) return null
  const clear = () => {
    selection.value = new Set()
  }
  return (
    <section class="bulk" aria-label="Selected workers">
      <p class="bulk-count" aria-live="polite">
        <strong class="number">{selected.length}</strong> selected
      </p>
      {BULK_ACTIONS.map(action => (
        <button
          key={action}
          type="button"
          class={`button small ${action === 'terminate' ? 'danger' : ''}`}
          onClick={() => {
            dialog.value = <BulkDialog workers={selected} action={action} onDone={clear} />
          }}
        >
          {ACTION_TEXTS[action].label.replace('…', '')}
          <span class="sr-only"> {countText(selected.length, 'worker')}</span>
        </button>
      ))}
      <button type="button" class="button small bulk-clear" onClick={clear}>
        Clear selection
      </button>
    </section>
  )
}
