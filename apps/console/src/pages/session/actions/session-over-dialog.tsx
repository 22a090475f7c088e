import { Modal } from '../../../parts/dialog/modal.tsx'

/** Shown when the session ended while a dialog was open. */
export const SessionOverDialog = ({ title }: { title: string }) => (
  <Modal title={title}>
    <p class="modal-body">This session has ended.</p>
  </Modal>
)
