import type { WorkerView } from '@lcm/contract/worker'
import { countText } from '@lcm/domain/text/format-amounts'
import { type Signal, useSignal } from '@preact/signals'
import { useConsole } from '../../../parts/console-context.ts'
import { CapacityLoss } from '../../../parts/dialog/capacity-loss.tsx'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { sessionsOf } from '../list/worker-sort.ts'
import { LiveWorker } from './live-worker.tsx'
import { requestWorkerAction } from './worker-requests.ts'

export type AfterDrain = 'STOPPED' | 'TERMINATED'

export const DrainDialog = ({ id }: { id: string }) => (
  <LiveWorker id={id}>{worker => <DrainForm worker={worker} />}</LiveWorker>
)

function DrainForm({ worker }: { worker: WorkerView }) {
  const { requests } = useConsole()
  const next = useSignal<AfterDrain>('STOPPED')
  const sessions = sessionsOf(worker)
  return (
    <ConfirmDialog
      title={`Drain ${worker.name}?`}
      verb="Drain"
      typed={next.value === 'TERMINATED' ? worker.name : null}
      // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
      onConfirm={() => requestWorkerAction(requests, worker, 'drain', { then: next.value })}
    >
      <p>
        No new sessions are placed on this worker.{' '}
        {sessions === 0
          ? 'It has no sessions, so the drain ends immediately.'
          : `${countText(sessions, 'session')} may end first.`}
      </p>
      <AfterDrainField chosen={next} isProtected={worker.protected} />
      <CapacityLoss
        change={next.value === 'STOPPED' ? { closed_workers: [worker.id] } : { terminated_workers: [worker.id] }}
      />
    </ConfirmDialog>
  )
}

const CHOICES = {
  STOPPED: { name: 'Stop', text: 'Disk and labs are kept. The worker can be started again.' },
  TERMINATED: { name: 'Terminate', text: "Machine and disk are deleted. This can't be undone." },
} as const

export const AfterDrainField = ({ chosen, isProtected }: { chosen: Signal<AfterDrain>; isProtected: boolean }) => (
  <fieldset class="field">
    <legend>After the last session</legend>
    <div class="choices">
      {(['STOPPED', 'TERMINATED'] as const).map(next => {
        const isDisabled = next === 'TERMINATED' && isProtected
        return (
          <label key={next} class={`choice ${isDisabled ? 'off' : ''}`}>
            <input
              type="radio"
              name="after-drain"
              checked={chosen.value === next}
              disabled={isDisabled}
              onChange={() => {
                chosen.value = next
              }}
            />
            <span class="choice-name">{CHOICES[next].name}</span>
            <span class="choice-text">{isDisabled ? 'The worker is protected.' : CHOICES[next].text}</span>
          </label>
        )
      })}
    </div>
  </fieldset>
)
