import { systemClock } from '@lcm/runtime/clock'
import type { Tab } from './tab.ts'

/** Actions on the workers page while frames are counted. */

/** Scrolls by so many pixels per frame, down and up. */
export const scroll = (tab: Tab, seconds: number, pixels: number): Promise<unknown> =>
  tab.evaluate(`new Promise(done => {
    const end = performance.now() + ${seconds * 1000}
    let direction = 1
    const step = now => {
      window.scrollBy(0, direction * ${pixels})
      const isAtEnd = window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - 1
      if (isAtEnd) direction = -1
      if (window.scrollY <= 0) direction = 1
      if (now < end) requestAnimationFrame(step)
      else done()
    }
    requestAnimationFrame(step)
  })`)

const KEY_DELAY_MS = 120

export async function filter(tab: Tab): Promise<void> {
  for (const text of ['metal-77', 'w-000', '54.0.1']) await search(tab, text)
  for (const column of ['cpu', 'cost', 'region', 'name'])
    await onNextFrame(tab, `document.querySelector('thead .col-${column} button').click()`)
  for (const region of ['eu-west-1', ''])
    await onNextFrame(
      tab,
      `const choice = document.querySelector('select[aria-label="Region"]')
       choice.value = '${region}'
       choice.dispatchEvent(new Event('change', { bubbles: true }))`,
    )
}

/** Types key by key, then clears the field. */
async function search(tab: Tab, text: string): Promise<void> {
  await tab.evaluate(`document.querySelector('input[type="search"]').focus()`)
  for (const key of text) {
    await tab.send('Input.insertText', { text: key })
    await systemClock.sleep(KEY_DELAY_MS)
  }
  await tab.evaluate(`document.querySelector('input[type="search"]').select()`)
  await tab.send('Input.dispatchKeyEvent', { type: 'keyDown', key: 'Delete', windowsVirtualKeyCode: 46 })
}

const onNextFrame = (tab: Tab, statements: string): Promise<unknown> =>
  tab.evaluate(`new Promise(done => {
    ${statements}
    requestAnimationFrame(() => requestAnimationFrame(done))
  })`)
