import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { TextField } from './fields.tsx'
import { Modal } from './modal.tsx'
import { useOwnDialog } from './use-own-dialog.ts'

interface ConfirmProps {
  readonly title: string
  /** Label of the confirm button, such as `Terminate`. */
  readonly verb: string
  /** Text to type before the button is enabled; null for actions that can be undone. */
  readonly typed: string | null
  /** Label of the button that closes the dialog. */
  readonly keep?: string
  readonly onConfirm: () => void
  /** Describes the effect. */
  readonly children: ComponentChildren
}

export function ConfirmDialog({ title, verb, typed, keep = 'Cancel', onConfirm, children }: ConfirmProps) {
  const { close } = useOwnDialog()
  const given = useSignal('')
  // Evaluated again on submit: the rendered state may be a frame older than the typed text.
  const isConfirmed = () => typed === null || given.value === typed
  const submit = (event: Event) => {
    event.preventDefault()
    if (!isConfirmed()) return
    onConfirm()
    close()
  }
  return (
    <Modal title={title}>
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
