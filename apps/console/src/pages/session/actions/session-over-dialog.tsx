import { useConsole } from '../../../parts/console-context.ts'
import { Modal } from '../../../parts/dialog/modal.tsx'

/** What it was about has gone while the dialog was open. */
export function SessionOverDialog({ title }: { title: string }) {
  const { dialog } = useConsole()
  const close = () => {
    dialog.value = null
  }
  return (
    <Modal title={title} onClose={close}>
      <p class="modal-body">This session is over meanwhile.</p>
    </Modal>
  )
}
