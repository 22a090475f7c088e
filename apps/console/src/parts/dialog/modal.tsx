import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { NamedIcon } from '../icons.tsx'

interface ModalProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/**
 * The browser's own dialog: it keeps the focus inside and closes on Escape. The focus goes back to where it came from.
 * It begins at the first field, so the button at its top comes last. The browser tells late that it was closed: by then
 * another may have taken its place, which must stay.
 */
export function Modal({ title, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)
  useEffect(() => {
    const shown = dialog.current
    const opener = document.activeElement
    shown?.showModal()
    return () => {
      isGone.current = true
      shown?.close()
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog ref={dialog} class="modal" aria-labelledby="modal-title" onClose={() => isGone.current || onClose()}>
      <h2 id="modal-title">{title}</h2>
      {children}
      <button type="button" class="button icon-only modal-close" onClick={() => dialog.current?.close()}>
        <NamedIcon name="close" />
        <span class="sr-only">Close</span>
      </button>
    </dialog>
  )
}

/** Why the server said no, right where it was asked. */
export const Refusal = ({ children }: { children: ComponentChildren }) => (
  <div class="refusal tone-red" role="alert">
    {children}
  </div>
)
