import { useLayoutEffect, useRef } from 'preact/hooks'
import { useOwnDialog } from './use-own-dialog.ts'

export interface MenuItem {
  readonly key: string
  readonly label: string
  readonly help: string
  readonly isDanger: boolean
  /** Tooltip of a disabled item; null when the item is enabled. */
  readonly disabledReason: string | null
  readonly onPick: () => void
}

interface MenuProps {
  readonly label: string
  /** The button that opened the menu. */
  readonly anchor: Element
  readonly items: readonly MenuItem[]
}

const GAP_PX = 4
/** Below this width the menu is a sheet at the bottom of the page. */
const SHEET_PX = 760

/** A menu beside its button, built on the native dialog: Escape and a click outside close it. */
export function Menu({ label, anchor, items }: MenuProps) {
  const { close } = useOwnDialog()
  const menu = useRef<HTMLDialogElement>(null)
  useMenuPlace(menu, anchor, close)
  const pick = ({ disabledReason, onPick }: MenuItem) => {
    if (disabledReason !== null) return
    close()
    onPick()
  }
  return (
    <dialog
      ref={menu}
      class="menu"
      aria-label={label}
      onClose={close}
      onClick={event => event.target === menu.current && close()}
      onKeyDown={event => moveFocus(event, menu.current)}
    >
      <ul>
        {items.map(item => (
          <li key={item.key}>
            <button
              type="button"
              class={`menu-item ${item.isDanger ? 'danger' : ''}`}
              aria-disabled={item.disabledReason !== null}
              onClick={() => pick(item)}
            >
              <span>{item.label}</span>
              <span class="menu-help">{item.disabledReason ?? item.help}</span>
            </button>
          </li>
        ))}
      </ul>
    </dialog>
  )
}

/** Positions the menu below its button, or above when there is no space. Scrolling closes it. */
function useMenuPlace(menu: { readonly current: HTMLDialogElement | null }, anchor: Element, close: () => void): void {
  useLayoutEffect(() => {
    const shown = menu.current
    const opener = document.activeElement
    if (shown === null) return
    shown.showModal()
    const { top, bottom, right } = anchor.getBoundingClientRect()
    if (window.innerWidth > SHEET_PX) {
      const below = bottom + GAP_PX
      const fitsBelow = below + shown.offsetHeight < window.innerHeight
      shown.style.top = `${fitsBelow ? below : Math.max(GAP_PX, top - GAP_PX - shown.offsetHeight)}px`
      shown.style.left = `${Math.max(GAP_PX, right - shown.offsetWidth)}px`
    }
    window.addEventListener('scroll', close, { passive: true })
    window.addEventListener('resize', close)
    return () => {
      window.removeEventListener('scroll', close)
      window.removeEventListener('resize', close)
      shown.close()
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true })
    }
  }, [menu, anchor])
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

function moveFocus(event: KeyboardEvent, menu: HTMLDialogElement | null): void {
  const step = STEPS[event.key]
  const items = [...(menu?.querySelectorAll<HTMLElement>('.menu-item') ?? [])]
  if (step === undefined || items.length === 0) return
  event.preventDefault()
  const place = items.findIndex(item => item.matches(':focus'))
  items[(place + step + items.length) % items.length]?.focus()
}
