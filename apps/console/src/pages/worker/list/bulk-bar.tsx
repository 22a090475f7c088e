import type { Worker } from '@lcm/domain/worker/worker'
import type { Signal } from '@preact/signals'
import { useConsole } from '../../../parts/console-context.ts'
import { countText } from '../../../state/error-text.ts'
import { ACT_WORDS } from '../actions/worker-actions.ts'
import { BULK_ACTS } from './bulk-action.ts'
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
      {BULK_ACTS.map(act => (
        <button
          key={act}
          type="button"
          class={`button small ${act === 'terminate' ? 'danger' : ''}`}
          onClick={() => {
            dialog.value = <BulkDialog workers={ticked} act={act} onDone={clear} />
          }}
        >
          {ACT_WORDS[act].label.replace('…', '')}
          <span class="sr-only"> {countText(ticked.length, 'worker')}</span>
        </button>
      ))}
      <button type="button" class="button small bulk-clear" onClick={clear}>
        Clear
      </button>
    </section>
  )
}
