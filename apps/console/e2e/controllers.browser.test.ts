import { expect, it } from 'vitest'
import { browserTests, screenshot } from './testing/browser-harness.ts'

const { open, api } = browserTests()

it('shows every replica of every service, and the plan', async () => {
  const { page } = await open({ at: '#/controllers' })
  for (const service of ['worker-controller', 'resource-scheduler', 'lablet-controller']) {
    const card = page.locator('.service', { hasText: service })
    await card.getByText('healthy').waitFor()
    await card.getByText('leader', { exact: true }).waitFor()
  }
  await page.getByRole('heading', { name: /^Plan/ }).waitFor()
  await screenshot(page, 'controllers-desktop-light')
})

it('triggers a leader', async () => {
  const { page } = await open({ at: '#/controllers' })
  const triggersOf = async () =>
    (await api().call('listServices', {})).items.find(({ service }) => service === 'lablet-controller')?.term?.triggers
  const before = (await triggersOf()) ?? 0
  const card = page.locator('.service', { hasText: 'lablet-controller' })
  await card.getByRole('button', { name: 'Trigger' }).click()
  await card.getByText('Triggering…').waitFor()
  await card.getByRole('button', { name: 'Trigger' }).waitFor()
  expect(await triggersOf()).toBe(before + 1)
})

it('resigns a leader after a confirmation and shows it until the next term', async () => {
  const { page } = await open({ at: '#/controllers' })
  // Without a leader for a while the other files would have to wait.
  const request = page.waitForRequest('**/services/resource-scheduler/resign')
  await page.route('**/services/resource-scheduler/resign', route => route.fulfill({ status: 202, json: {} }))
  const card = page.locator('.service', { hasText: 'resource-scheduler' })
  await card.getByRole('button', { name: 'Resign' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resign', exact: true }).click()
  expect((await request).method()).toBe('POST')
  await card.getByRole('button', { name: 'Resigning…' }).waitFor()
})

it('hides actions that the role does not allow', async () => {
  const { page } = await open({ at: '#/controllers', role: 'user' })
  await page.locator('.service').first().waitFor()
  expect(await page.getByRole('button', { name: /Trigger|Resign/ }).count()).toBe(0)
})
