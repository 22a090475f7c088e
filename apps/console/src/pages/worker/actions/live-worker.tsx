import type { WorkerView } from '@lcm/contract/worker'
import type { ComponentChildren } from 'preact'
import { useConsole } from '../../../parts/console-context.ts'
import { Modal } from '../../../parts/dialog/modal.tsx'

interface WorkerDialogProps {
  readonly id: string
  readonly children: (worker: WorkerView) => ComponentChildren
}

/** A dialog about the current state of a worker, whose record may be removed while the dialog is open. */
export function WorkerDialog({ id, children }: WorkerDialogProps) {
  const { state, dialog } = useConsole()
  const worker = state.live.worker.get(id)
  if (worker) return <>{children(worker)}</>
  const close = () => {
    dialog.value = null
  }
  return (
    <Modal title="Worker removed" onClose={close}>
      <p class="modal-body">The record of this worker was removed.</p>
    </Modal>
  )
}
