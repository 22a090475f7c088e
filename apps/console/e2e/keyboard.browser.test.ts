import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { browserTests, screenshot, seriousViolations } from './testing/browser-harness.ts'
import { workerFixtures } from './testing/worker-fixtures.ts'

const { open, api } = browserTests()
const own = workerFixtures(api)
const PAGES = [
  'overview',
  'workers',
  'sessions',
  'definitions',
  'labs',
  'controllers',
  'chaos',
  'people',
  'audit',
  'settings',
]

const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key)
}

interface Stop {
  /** Accessible name, else its markup. */
  readonly name: string
  readonly isSeen: boolean
}

/** Focused element, and whether its focus ring is visible. */
const focused = (page: Page): Promise<Stop> =>
  page.evaluate(() => {
    const element = document.activeElement ?? document.body
    const marks = [element, element.parentElement, element.closest('label')]
    const isMarked = marks.some(each => {
      const { outlineStyle, outlineWidth } = each ? getComputedStyle(each) : { outlineStyle: 'none', outlineWidth: '0' }
      return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2
    })
    const { width, height } = element.getBoundingClientRect()
    const label = element.closest('label')?.textContent
    const text = (element.getAttribute('aria-label') ?? label ?? element.textContent ?? '').trim()
    const name = element === document.body ? 'body' : text || element.outerHTML.slice(0, 120)
    return { name, isSeen: isMarked && width > 0 && height > 0 }
  })

const STOPS_MAX = 80

/** All elements that Tab reaches, from top to bottom. */
async function walk(page: Page): Promise<Stop[]> {
  const stops: Stop[] = []
  while (stops.length < STOPS_MAX) {
    await page.keyboard.press('Tab')
    const stop = await focused(page)
    if (stop.name === 'body' || (stops.length > 0 && stop.name === stops[0]?.name)) break
    stops.push(stop)
  }
  return stops
}

async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let stop = 0; stop < STOPS_MAX; stop += 1) {
    const now = await focused(page)
    if (typeof name === 'string' ? now.name === name : name.test(now.name)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab never reaches ${name}`)
}

async function arrowUpTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < STOPS_MAX; step += 1) {
    if ((await focused(page)).name.startsWith(name)) return
    await page.keyboard.press('ArrowUp')
  }
  throw new Error(`ArrowUp never reaches ${name}`)
}

beforeAll(() => Promise.all([own.serving('keys-one'), own.serving('keys-three')]))

describe('the keyboard', () => {
  it.each(PAGES)('reaches everything on %s with a visible focus', async name => {
    const { page } = await open({ at: `#/${name}` })
    const buttons = page.locator('main button:visible, main a[href]:visible')
    const atFirst = await buttons.count()
    const stops = await walk(page)
    expect(stops.slice(0, 3).map(stop => stop.name)).toEqual(['Skip to content', 'Lablet Cloud Manager', 'Overview'])
    expect(stops.filter(stop => !stop.isSeen)).toEqual([])
    // A machine that starts meanwhile adds buttons behind the focus.
    expect(stops.length).toBeGreaterThanOrEqual(Math.min(STOPS_MAX, atFirst, await buttons.count()))
  })

  it('skips the navigation and focuses the heading of a new page', async () => {
    const { page } = await open({ at: '#/workers' })
    await press(page, 'Tab')
    await screenshot(page, 'keyboard-skip-light')
    await press(page, 'Enter')
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN')
    await press(page, 'Tab')
    expect((await focused(page)).name).toBe('Create worker')
    await page.getByRole('link', { name: 'Definitions', exact: true }).focus()
    await press(page, 'Shift+Tab', 'Enter')
    await page.locator('h1:focus', { hasText: /sessions/i }).waitFor()
    expect(await page.title()).toBe('Sessions · LCM')
    await page.goBack()
    await page.locator('h1:focus', { hasText: 'Workers' }).waitFor()
    expect(await page.title()).toBe('Workers · LCM')
  })

  it('stays on the heading of a page that loads first', async () => {
    const { page } = await open({ at: '#/settings' })
    const none = JSON.stringify({ items: [], next_cursor: null, revision: '1' })
    await page.route('**/api/v1/lablet-sessions?*', async route => {
      // Finished sessions are loaded by the page itself, after its heading is shown.
      if (route.request().url().includes('status=')) await page.locator('h1:focus', { hasText: 'Sessions' }).waitFor()
      await route.fulfill({ contentType: 'application/json', body: none })
    })
    await page.route('**/api/v1/events', () => undefined)
    await page.reload()
    await page.locator('.setting').first().waitFor()
    await page.getByRole('link', { name: 'Sessions', exact: true }).click()
    await page.locator('h1:focus', { hasText: 'No sessions yet' }).waitFor()
  })

  it('opens, fills and sends a form, and Escape leads back', async () => {
    const { page } = await open({ at: '#/workers?q=keys-' })
    const opener = page.getByRole('button', { name: 'Create worker' })
    await tabTo(page, 'Create worker')
    await press(page, 'Enter')
    await page.getByRole('dialog', { name: 'Create worker' }).waitFor()
    await press(page, 'Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await opener.evaluate(each => each === document.activeElement)).toBe(true)
    await press(page, 'Enter')
    await page.locator('dialog input[type=radio]:focus').waitFor()
    await tabTo(page, /^Name/)
    await page.keyboard.type('keys-two')
    await press(page, 'Enter')
    await page.getByRole('row').filter({ hasText: 'keys-two' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await opener.evaluate(each => each === document.activeElement)).toBe(true)
  })

  it('uses rows and menus to start an action that needs typed confirmation', async () => {
    const { page } = await open({ at: '#/workers?q=keys-three' })
    await tabTo(page, 'More actions for keys-three')
    await press(page, 'Enter')
    await page.getByRole('dialog', { name: 'Actions for keys-three' }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await press(page, 'Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await focused(page)).name).toBe('More actions for keys-three')
    await press(page, 'Enter')
    await page.getByRole('dialog', { name: 'Actions for keys-three' }).waitFor()
    await arrowUpTo(page, 'Terminate…')
    await press(page, 'Enter')
    await page.locator('dialog input[type=text]:focus').waitFor()
    await page.keyboard.type('keys-thre')
    await press(page, 'Enter')
    await page.getByRole('dialog', { name: /keys-three/ }).waitFor()
    await page.keyboard.type('e')
    await page.getByRole('dialog').getByRole('button', { name: 'Terminate', disabled: false }).waitFor()
    await press(page, 'Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('No workers match the filter.').waitFor()
  })

  it.each([
    ['Create worker', 'Create worker'],
    ['More actions for keys-one', 'Actions for keys-one'],
  ])('%s opens again before the browser reports that Escape closed it', async (opener, title) => {
    const { page } = await open({ at: '#/workers?q=keys-one' })
    const button = page.getByRole('main').getByRole('button', { name: opener })
    await button.click()
    const dialog = page.getByRole('dialog', { name: title })
    await dialog.waitFor()
    await button.evaluate(async (again: HTMLElement) => {
      const first = document.querySelector('dialog')
      first?.close()
      again.click()
      // As on a busy machine: the event arrives before the frame that draws the second dialog.
      first?.dispatchEvent(new Event('close'))
      for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame)
    })
    expect(await dialog.count()).toBe(1)
  })

  it('closes a dialog when the page changes', async () => {
    const { page } = await open({ at: '#/sessions' })
    await page.getByRole('link', { name: 'Workers', exact: true }).click()
    await page.getByRole('button', { name: 'Create worker' }).click()
    await page.getByRole('dialog').waitFor()
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.locator('h1:focus', { hasText: /sessions/i }).waitFor()
    await page.goForward()
    await page.getByRole('button', { name: 'Create worker' }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('keeps a dialog that is opened in the frame of a page change', async () => {
    const { page } = await open({ at: '#/sessions' })
    await page.getByRole('button', { name: 'Book a session' }).first().click()
    await page.getByRole('dialog').waitFor()
    await page.evaluate(async () => {
      const button = () => [...document.querySelectorAll('button')].find(each => each.textContent === 'Create worker')
      await new Promise<void>(resolve => {
        // Called before the effects of the new page.
        const watcher = new MutationObserver(() => {
          if (button() === undefined) return
          watcher.disconnect()
          button()?.click()
          resolve()
        })
        watcher.observe(document.body, { childList: true, subtree: true })
        location.hash = '#/workers'
      })
      // Effects run after a frame, or 35 ms after it was due.
      for (let frame = 0; frame < 6; frame += 1) await new Promise(requestAnimationFrame)
    })
    expect(await page.getByRole('dialog', { name: 'Create worker' }).count()).toBe(1)
  })

  it('announces refusals and dismisses them', async () => {
    const { page } = await open({ at: '#/workers?q=keys-one' })
    const refusal = { type: 'about:blank', title: 'No', status: 409, code: 'worker_protected', detail: 'Not this one.' }
    await page.route('**/api/v1/workers/*/stop', route =>
      route.fulfill({ status: 409, contentType: 'application/problem+json', body: JSON.stringify(refusal) }),
    )
    await tabTo(page, 'Stop keys-one')
    await press(page, 'Enter')
    const notice = page.locator('[aria-live=polite]', { hasText: 'Could not stop keys-one' })
    await notice.getByText('Not this one.').waitFor()
    await tabTo(page, 'Dismiss')
    await press(page, 'Enter')
    await page.getByText('Not this one.').waitFor({ state: 'detached' })
  })
})
