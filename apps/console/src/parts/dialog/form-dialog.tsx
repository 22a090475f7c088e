import { ApiError } from '@lcm/client/api-error'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { failureText } from '../../state/error-text.ts'
import { useConsole } from '../console-context.ts'
import { Modal, Refusal } from './modal.tsx'

interface FormProps {
  readonly title: string
  /** What the button says, such as `Create worker`. */
  readonly verb: string
  readonly isComplete: boolean
  /** Rejects when refused; the form then stays, with what was typed, and says why. Who has left it is to be moved nowhere. */
  readonly send: (isShown: () => boolean) => Promise<unknown>
  readonly children: ComponentChildren
}

/** A form that closes when the API has taken what it sends. Who has left it by then is still told of a refusal. */
export function FormDialog({ title, verb, isComplete, send, children }: FormProps) {
  const { dialog, notices } = useConsole()
  const own = useRef(dialog.peek()).current
  const isSending = useSignal(false)
  const refusal = useSignal<unknown>(null)
  // Another one may have taken its place meanwhile.
  const isShown = () => dialog.peek() === own
  const close = () => {
    if (isShown()) dialog.value = null
  }
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
    <Modal title={title} onClose={close}>
      <form class="modal-body" onSubmit={submit}>
        {children}
        {refusal.value !== null && <RefusalOf error={refusal.value} />}
        <footer class="modal-foot">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={!isComplete}>
            {isSending.value ? 'Asking…' : verb}
          </button>
        </footer>
      </form>
    </Modal>
  )
}

/** Why the API said no, with what is wrong where. */
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
