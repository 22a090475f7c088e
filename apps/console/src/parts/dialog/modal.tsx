import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { NamedIcon } from '../icons.tsx'
import { useOwnDialog } from './use-own-dialog.ts'

interface ModalProps {
  readonly title: string
  readonly children: ComponentChildren
}

/**
 * The native dialog keeps the focus inside and closes on Escape; afterwards the focus returns to its opener. The close button
 * is last in the tab order, so that the first field gets the focus. The browser fires `close` late: by then its content may
 * have been replaced, which must stay open.
 */
export function Modal({ title, children }: ModalProps) {
  const { close } = useOwnDialog()
  const dialog = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)
  useLayoutEffect(() => {
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
    <dialog ref={dialog} class="modal" aria-labelledby="modal-title" onClose={() => isGone.current || close()}>
      <h2 id="modal-title">{title}</h2>
      {children}
      <button type="button" class="button icon-only modal-close" onClick={() => dialog.current?.close()}>
        <NamedIcon name="close" />
        <span class="sr-only">Close</span>
      </button>
    </dialog>
  )
}

/** Error of the request, shown in the form that sent it. */
export const Refusal = ({ children }: { children: ComponentChildren }) => (
  <div class="refusal tone-red" role="alert">
    {children}
  </div>
)
