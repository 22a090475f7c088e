import { useRef } from 'preact/hooks'
import { useConsole } from '../console-context.ts'

interface OwnDialog {
  /** False once the user closed the dialog or opened another one. */
  isShown(): boolean
  /** Closes no other dialog: events such as `close` may arrive late, when the user has already opened the next one. */
  close(): void
}

/** The dialog or menu that the component is part of. */
export function useOwnDialog(): OwnDialog {
  const { dialog } = useConsole()
  const own = useRef(dialog.peek()).current
  const isShown = () => dialog.peek() === own
  return {
    isShown,
    close() {
      if (isShown()) dialog.value = null
    },
  }
}
