import type { WorkerView } from '@lcm/contract/worker-bodies'
import type { ComponentChildren } from 'preact'
import { useConsole } from '../../../parts/console-context.ts'
import { Modal } from '../../../parts/dialog/modal.tsx'

interface WorkerDialogProps {
  readonly id: string
  readonly children: (worker: WorkerView) => ComponentChildren
}

/** A dialog about a worker as it is now, which may be gone before anybody has pressed anything. */
export function WorkerDialog({ id, children }: WorkerDialogProps) {
  const { state, dialog } = useConsole()
  const worker = state.live.worker.get(id)
  if (worker) return <>{children(worker)}</>
  const close = () => {
    dialog.value = null
  }
  return (
    <Modal title="This worker is gone" onClose={close}>
      <p class="modal-body">Its record has been removed meanwhile.</p>
    </Modal>
  )
}
