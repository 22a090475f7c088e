/** Events after which the user expects the page to have changed before the next key or click. */
const INPUT_EVENTS = ['click', 'keydown', 'input', 'change', 'submit', 'hashchange'] as const

interface Frames {
  addEventListener(type: string, listener: () => void): void
  requestAnimationFrame(callback: () => void): unknown
}

/**
 * Schedules rendering. Changes that LCM reports are rendered at most once per frame, and never in a hidden tab. Input of the user
 * is rendered at once: the next key would otherwise reach a page that is out of date.
 */
export function renderSchedule(browser: Frames): (render: () => void) => void {
  let pending: (() => void) | null = null
  const renderNow = () => {
    const render = pending
    pending = null
    render?.()
  }
  for (const type of INPUT_EVENTS) browser.addEventListener(type, renderNow)
  return render => {
    pending = render
    browser.requestAnimationFrame(renderNow)
  }
}
