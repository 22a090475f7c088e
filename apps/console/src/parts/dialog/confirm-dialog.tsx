import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useConsole } from '../console-context.ts'
import { TextField } from './fields.tsx'
import { Modal } from './modal.tsx'

interface ConfirmProps {
  readonly title: string
  /** What the button says, such as `Terminate`. */
  readonly verb: string
  /** What has to be typed before it can be pressed; null for acts that can be taken back. */
  readonly typed: string | null
  /** What the button says that changes nothing. */
  readonly keep?: string
  readonly onConfirm: () => void
  /** What will happen. */
  readonly children: ComponentChildren
}

export function ConfirmDialog({ title, verb, typed, keep = 'Cancel', onConfirm, children }: ConfirmProps) {
  const { dialog } = useConsole()
  const given = useSignal('')
  // Asked anew when it is sent: what is on the page may be a frame older than what was typed.
  const isConfirmed = () => typed === null || given.value === typed
  const close = () => {
    dialog.value = null
  }
  const submit = (event: Event) => {
    event.preventDefault()
    if (!isConfirmed()) return
    onConfirm()
    close()
  }
  return (
    <Modal title={title} onClose={close}>
      <form class="modal-body" onSubmit={submit}>
        {children}
        {typed !== null && (
          <TextField
            label={
              <>
                Type <code>{typed}</code> to confirm
              </>
            }
            value={given}
          />
        )}
        <footer class="modal-foot">
          <button type="button" class="button" onClick={close}>
            {keep}
          </button>
          <button type="submit" class="button danger solid" disabled={!isConfirmed()}>
            {verb}
          </button>
        </footer>
      </form>
    </Modal>
  )
}
