import { Modal } from '../../parts/modal.tsx'
import { useConsole } from '../../parts/wiring.ts'

/** What it was about has gone while the dialog was open. */
export function GoneDialog({ title }: { title: string }) {
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
