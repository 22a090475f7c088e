import { type ReadonlySignal, signal } from '@preact/signals'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

export interface ThemeChoice {
  readonly theme: ReadonlySignal<Theme>
  choose(theme: Theme): void
}

type Memory = Pick<Storage, 'getItem' | 'setItem'>
const STORAGE_KEY = 'lcm-theme'

/** `system` follows the preference of the browser. */
export function themeChoice(root: Pick<Element, 'setAttribute'>, storage: () => Memory): ThemeChoice {
  const theme = signal(remembered(storage))
  const show = () => root.setAttribute('data-theme', theme.value)
  show()
  return {
    theme,
    choose(next) {
      theme.value = next
      show()
      remember(storage, next)
    },
  }
}

/** Storage may be blocked: then the choice lasts until the page is closed. */
function remembered(storage: () => Memory): Theme {
  try {
    const stored = storage().getItem(STORAGE_KEY)
    return THEMES.find(theme => theme === stored) ?? 'system'
  } catch {
    return 'system'
  }
}

function remember(storage: () => Memory, theme: Theme): void {
  try {
    storage().setItem(STORAGE_KEY, theme)
  } catch {
    return
  }
}
