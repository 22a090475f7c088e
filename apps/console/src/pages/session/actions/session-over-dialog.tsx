import { useConsole } from '../../../parts/console-context.ts'
import { Modal } from '../../../parts/dialog/modal.tsx'

/** Shown when the session ended while a dialog was open. */
export function SessionOverDialog({ title }: { title: string }) {
  const { dialog } = useConsole()
  const close = () => {
    dialog.value = null
  }
  return (
    <Modal title={title} onClose={close}>
      <p class="modal-body">This session has ended.</p>
    </Modal>
  )
}
