import { ApiError } from '@lcm/client/client'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { failureText } from '../../state/failure-text.ts'
import { useConsole } from '../console-context.ts'
import { Modal, Refusal } from './modal.tsx'
import { useOwnDialog } from './use-own-dialog.ts'

interface FormProps {
  readonly title: string
  /** Label of the submit button, such as `Create worker`. */
  readonly verb: string
  readonly isComplete: boolean
  /** Rejects when the API refuses. `isShown` is false once the user has left the form: don't navigate then. */
  readonly send: (isShown: () => boolean) => Promise<unknown>
  readonly children: ComponentChildren
}

/** A form that closes when the API accepts the request. A refusal after the user left is shown as a notice. */
export function FormDialog({ title, verb, isComplete, send, children }: FormProps) {
  const { notices } = useConsole()
  const { isShown, close } = useOwnDialog()
  const isSending = useSignal(false)
  const refusal = useSignal<unknown>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isSending.value || !isComplete) return
    isSending.value = true
    refusal.value = null
    try {
      await send(isShown)
      close()
    } catch (error) {
      isSending.value = false
      refusal.value = error
      if (!isShown()) notices.show('refused', `Could not ${verb.toLowerCase()}`, failureText(error))
    }
  }
  return (
    <Modal title={title}>
      <form class="modal-body" onSubmit={submit}>
        {children}
        {refusal.value !== null && <RefusalOf error={refusal.value} />}
        <footer class="modal-foot">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={!isComplete}>
            {isSending.value ? 'Sending…' : verb}
          </button>
        </footer>
      </form>
    </Modal>
  )
}

/** Reason of the refusal, with the fields that are wrong. */
const RefusalOf = ({ error }: { error: unknown }) => (
  <Refusal>
    {failureText(error)}
    {error instanceof ApiError && error.problem.errors && (
      <ul>
        {error.problem.errors.map(each => (
          <li key={`${each.path} ${each.message}`}>
            <code>{each.line === undefined ? each.path : `line ${each.line}`}</code> {each.message}
          </li>
        ))}
      </ul>
    )}
  </Refusal>
)
