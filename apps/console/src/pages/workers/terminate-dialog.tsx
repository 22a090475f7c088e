import { useSignal } from '@preact/signals'
import { Modal } from './modal.tsx'
import { WorkerStatusBadge } from './status-badge.tsx'
import { useConsole } from './wiring.ts'

export function TerminateDialog({ id }: { id: string }) {
  const { state, asks, dialog } = useConsole()
  const typed = useSignal('')
  const worker = state.workers.get(id)
  const close = () => {
    dialog.value = null
  }
  if (!worker) return <Gone onClose={close} />

  const isConfirmed = typed.value === worker.name
  const submit = (event: Event) => {
    event.preventDefault()
    if (!isConfirmed) return
    asks.ask(worker, 'terminate')
    close()
  }
  return (
    <Modal title={`Terminate ${worker.name}?`} onClose={close}>
      <form class="modal-body" onSubmit={submit}>
        <p>
          Its machine and disk are destroyed, with every lab on them. <strong>This can't be undone.</strong> To keep the
          disk, stop it instead.
        </p>
        <p class="muted">
          <WorkerStatusBadge worker={worker} /> in {worker.aws_region}
        </p>
        <label class="field">
          <span>
            Type <code>{worker.name}</code> to confirm
          </span>
          <input
            type="text"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            value={typed}
            onInput={event => {
              typed.value = event.currentTarget.value
            }}
          />
        </label>
        <footer class="modal-foot">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button danger solid" disabled={!isConfirmed}>
            Terminate
          </button>
        </footer>
      </form>
    </Modal>
  )
}

const Gone = ({ onClose }: { onClose: () => void }) => (
  <Modal title="Nothing to terminate" onClose={onClose}>
    <p class="modal-body">This worker's record has been removed meanwhile.</p>
  </Modal>
)
