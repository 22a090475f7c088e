import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import type { Page, Route } from 'playwright-core'
import { expect, it } from 'vitest'
import { browserTests } from './testing/browser-harness.ts'
import { TWO_ROUTERS } from './testing/topology-fixtures.ts'

const { open, api } = browserTests()

const nameIn = (page: Page) => page.getByRole('dialog').getByLabel('Name')

/** Keeps every request of that kind waiting for its answer. */
async function heldBack(page: Page, url: string, method: string): Promise<Route[]> {
  const held: Route[] = []
  await page.route(url, route => (route.request().method() === method ? held.push(route) : route.fallback()))
  return held
}

it('a read slower than its interval is awaited and shown', async () => {
  const { page } = await open({ at: '#/overview' })
  const held = await heldBack(page, '**/sim/v1/instances', 'GET')
  await page.getByRole('link', { name: 'Chaos', exact: true }).click()
  for (let reads = 0; reads < 4; reads += 1) await page.waitForRequest('**/sim/v1/faults')
  expect(held.length).toBe(1)
  await held[0]?.continue()
  await page.locator('table.machines tbody tr').first().waitFor()
})

it('a form that was left closes no other form and still reports a refusal', async () => {
  const { page } = await open({ at: '#/workers' })
  const held = await heldBack(page, '**/api/v1/workers', 'POST')
  const sendAndLeave = async (name: string) => {
    const count = held.length
    await page.getByRole('button', { name: 'Create worker' }).click()
    await nameIn(page).fill(name)
    await page.getByRole('dialog').getByRole('button', { name: 'Create worker' }).click()
    await expect.poll(() => held.length).toBe(count + 1)
    await page.keyboard.press('Escape')
  }
  await sendAndLeave('late-1')
  await sendAndLeave('late-2')
  await page.getByRole('button', { name: 'Create worker' }).click()
  await nameIn(page).fill('kept')
  await held[0]?.fulfill({ status: 201, json: { id: 'w-late-1', version: 1 } })
  await page.getByText('Creating late-1').waitFor()
  const problem = new ProblemError('already_exists', 'late-2 is taken').toProblem('/')
  const body = JSON.stringify(problem)
  await held[1]?.fulfill({ status: problem.status, contentType: PROBLEM_MEDIA_TYPE, body })
  await page.getByText('late-2 is taken').waitFor()
  await page.getByText('Could not create worker').waitFor()
  expect(await nameIn(page).inputValue()).toBe('kept')
})

it('a form for a new version that was left does not navigate', async () => {
  const name = 'late-version'
  await api().call('createDefinition', { body: { name, topology: TWO_ROUTERS } })
  const { page } = await open({ at: `#/definitions?q=${name}` })
  const held = await heldBack(page, '**/api/v1/lablet-definitions/*', 'PUT')
  await page.getByRole('button', { name: `New version… ${name} 1.0.0` }).click()
  await page.getByRole('dialog').getByLabel('Title').fill('Second')
  await page.getByRole('button', { name: 'Create version' }).click()
  await expect.poll(() => held.length).toBe(1)
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Workers', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Workers' }).waitFor()
  const isAnswered = page.waitForEvent('requestfinished', request => request.method() === 'PUT')
  await held[0]?.continue()
  await isAnswered
  await page.evaluate(() => new Promise(requestAnimationFrame))
  expect(new URL(page.url()).hash).toBe('#/workers')
})
