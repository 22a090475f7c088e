import type { Page, Route } from 'playwright-core'
import { expect, it } from 'vitest'
import { browserTests } from './testing/browser.ts'

const { open } = browserTests()

/** Keeps every request of that kind waiting for its answer. */
async function heldBack(page: Page, url: string, method: string): Promise<Route[]> {
  const held: Route[] = []
  await page.route(url, route => (route.request().method() === method ? held.push(route) : route.fallback()))
  return held
}

it('what takes longer to read than the time to the next reading is waited for, and shown', async () => {
  const { page } = await open({ at: '#/overview' })
  const held = await heldBack(page, '**/sim/v1/instances', 'GET')
  await page.getByRole('link', { name: 'Chaos' }).click()
  for (let turns = 0; turns < 4; turns += 1) await page.waitForRequest('**/sim/v1/faults')
  expect(held.length).toBe(1)
  await held[0]?.continue()
  await page.locator('table.machines tbody tr').first().waitFor()
})
