import { describe, expect, it } from 'vitest'
import { browserTests, DESKTOP, hiddenPx, PHONE, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open } = browserTests()

const PAGES = [
  'overview',
  'workers',
  'sessions',
  'definitions',
  'labs',
  'forecast',
  'controllers',
  'chaos',
  'people',
  'audit',
  'settings',
]
const DEVICES = { desktop: DESKTOP, phone: PHONE }
/** Every width and every light once: the colors of a width are those of the other. */
const JUDGED: Readonly<Record<string, string>> = { desktop: 'light', phone: 'dark' }

describe.each(PAGES)('%s', name => {
  it('fits every device in light and dark, and axe finds nothing serious', async () => {
    const { page } = await open({ at: `#/${name}` })
    for (const [device, viewport] of Object.entries(DEVICES))
      for (const theme of ['light', 'dark'] as const) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme: theme })
        await screenshot(page, `${name}-${device}-${theme}`)
        const sideways = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
        expect({ device, theme, sideways }).toEqual({ device, theme, sideways: 0 })
        if (JUDGED[device] === theme)
          expect({ device, theme, found: await seriousViolations(page) }).toEqual({ device, theme, found: [] })
      }
  })
})

describe('on a phone', () => {
  it('the current page is visible in the navigation', async () => {
    const { page } = await open({ at: '#/settings', viewport: PHONE })
    const current = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Settings' })
    const isInSight = async () => {
      const box = await current.boundingBox()
      return box !== null && box.x >= 0 && box.x + box.width <= PHONE.width
    }
    await expect.poll(isInSight).toBe(true)
    await page.getByRole('link', { name: 'Lablet Cloud Manager' }).click()
    await expect.poll(isInSight).toBe(false)
  })

  it('no table overflows its box', async () => {
    for (const at of ['controllers', 'chaos']) {
      const { page } = await open({ at: `#/${at}`, viewport: PHONE })
      await page.locator('.scroll-box td').first().waitFor()
      for (const box of await page.locator('.scroll-box:has(table)').all()) expect(await hiddenPx(box)).toBe(0)
    }
  })
})

describe('times', () => {
  it('name their zone once per page, and UTC in the tooltip', async () => {
    const { page } = await open({ at: '#/audit' })
    await page.getByText(/^Times are in your browser's time zone, \S+/).waitFor()
    const time = page.locator('.audit-when time').first()
    expect(await time.textContent()).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d$/)
    expect(await time.getAttribute('title')).toMatch(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
  })
})

describe('a page that cannot be drawn', () => {
  it('shows the error and leaves other pages usable', async () => {
    const { page } = await open({ at: '#/audit', isFresh: true })
    const go = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()
    const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
    await heading('Audit')
    await page.evaluate(() => {
      const { toSorted } = Array.prototype
      addEventListener('fixed', () => Object.assign(Array.prototype, { toSorted }))
      Object.assign(Array.prototype, {
        toSorted() {
          throw new Error('out of order')
        },
      })
    })
    await go('Overview')
    await heading("This page can't be shown")
    await page.getByText('out of order').waitFor()
    await screenshot(page, 'pages-not-drawn-light')
    await go('Audit')
    await heading('Audit')
    await go('Overview')
    await heading("This page can't be shown")
    await page.evaluate(() => dispatchEvent(new Event('fixed')))
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading('Overview')
  })
})
