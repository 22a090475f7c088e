import type { WorkerView } from '@lcm/contract/worker-bodies'
import { type Signal, useSignal } from '@preact/signals'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { countText } from '../../../state/error-text.ts'
import { sessionsOf } from '../list/worker-sort.ts'
import { askWorker } from './request-worker.ts'
import { OfWorker } from './worker-dialog.tsx'

export type AfterDrain = 'STOPPED' | 'TERMINATED'

export const DrainDialog = ({ id }: { id: string }) => (
  <OfWorker id={id}>{worker => <DrainOf worker={worker} />}</OfWorker>
)

function DrainOf({ worker }: { worker: WorkerView }) {
  const { asks } = useConsole()
  const next = useSignal<AfterDrain>('STOPPED')
  const sessions = sessionsOf(worker)
  return (
    <ConfirmDialog
      title={`Drain ${worker.name}?`}
      verb="Drain"
      typed={next.value === 'TERMINATED' ? worker.name : null}
      // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
      onConfirm={() => askWorker(asks, worker, 'drain', { then: next.value })}
    >
      <p>
        No new session is placed on it.{' '}
        {sessions === 0
          ? 'None lives on it, so it goes on at once.'
          : `${countText(sessions, 'session')} may end first.`}
      </p>
      <AfterDrainField chosen={next} isProtected={worker.protected} />
    </ConfirmDialog>
  )
}

const CHOICES = {
  STOPPED: { name: 'Stop it', text: 'Its disk and labs stay, and it can be started again.' },
  TERMINATED: { name: 'Terminate it', text: "Its machine and disk are destroyed. This can't be undone." },
} as const

export const AfterDrainField = ({ chosen, isProtected }: { chosen: Signal<AfterDrain>; isProtected: boolean }) => (
  <fieldset class="field">
    <legend>Once it is empty</legend>
    <div class="choices">
      {(['STOPPED', 'TERMINATED'] as const).map(next => {
        const isBarred = next === 'TERMINATED' && isProtected
        return (
          <label key={next} class={`choice ${isBarred ? 'off' : ''}`}>
            <input
              type="radio"
              name="after-drain"
              checked={chosen.value === next}
              disabled={isBarred}
              onChange={() => {
                chosen.value = next
              }}
            />
            <span class="choice-name">{CHOICES[next].name}</span>
            <span class="choice-text">{isBarred ? 'It is protected.' : CHOICES[next].text}</span>
          </label>
        )
      })}
    </div>
  </fieldset>
)
