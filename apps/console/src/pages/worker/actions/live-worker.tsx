import type { WorkerView } from '@lcm/contract/worker'
import type { ComponentChildren } from 'preact'
import { useConsole } from '../../../parts/console-context.ts'
import { Modal } from '../../../parts/dialog/modal.tsx'

interface LiveWorkerProps {
  readonly id: string
  readonly children: (worker: WorkerView) => ComponentChildren
}

/** Draws its children with the current worker, or says that its record was removed while a dialog about it was open. */
export function LiveWorker({ id, children }: LiveWorkerProps) {
  const { state } = useConsole()
  const worker = state.live.worker.get(id)
  if (worker) return <>{children(worker)}</>
  return (
    <Modal title="Worker removed">
      <p class="modal-body">The record of this worker was removed.</p>
    </Modal>
  )
}
