import { describe, expect, it } from 'vitest'
import { browserTests, DESKTOP, PHONE, screenshot, seriousViolations } from './testing/browser.ts'

const { open } = browserTests()

const PAGES = ['overview', 'workers', 'sessions', 'definitions', 'labs', 'controllers', 'chaos', 'audit', 'settings']
const DEVICES = { desktop: DESKTOP, phone: PHONE }
/** Every width and every light once: the colours of a width are those of the other. */
const JUDGED: Readonly<Record<string, string>> = { desktop: 'light', phone: 'dark' }

describe.each(PAGES)('%s', name => {
  it('is whole on every device in every light, and axe finds nothing serious', async () => {
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
