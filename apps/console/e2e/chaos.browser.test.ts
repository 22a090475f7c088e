import { beforeAll, expect, it } from 'vitest'
import { browserTests, hiddenPx, screenshot, seriousViolations, WIDTHS } from './testing/browser-harness.ts'
import { workerFixtures } from './testing/worker-fixtures.ts'

const { open, api } = browserTests()
const workers = workerFixtures(api)

let victim: { readonly id: string; readonly ec2_instance_id: string | null }
beforeAll(async () => {
  victim = await workers.serving('chaos-victim')
})

it('breaks a CML and repairs it', async () => {
  const { page } = await open({ at: '#/chaos' })
  const row = page.locator('.machines tr', { hasText: 'chaos-victim' })
  const pick = async (label: string) => {
    await row.getByRole('button', { name: 'CML of chaos-victim' }).click()
    await page.getByRole('dialog').getByRole('button', { name: label }).click()
  }
  await pick('Cut the network')
  await row.getByText('network cut').waitFor()
  await pick('Fail all calls')
  await row.getByText('answers 500').waitFor()
  await pick('End all API sessions')
  await pick('Clear CML faults')
  await row.getByText('network cut').waitFor({ state: 'detached' })
})

it('stops a machine in EC2 and shows how LCM recovers it', async () => {
  const { page } = await open({ at: '#/chaos' })
  const row = page.locator('.machines tr', { hasText: 'chaos-victim' })
  await row.getByRole('button', { name: 'Stop chaos-victim' }).click()
  const feed = page.locator('.feed')
  await feed.getByText('stopped chaos-victim directly in EC2').waitFor()
  await api().call('refreshWorker', { params: { id: victim.id }, body: {} })
  // Entries above the user action are newer.
  await feed
    .locator('.feed-line:not(.user-action):has(~ .user-action)', { hasText: /EC2.*stop/ })
    .first()
    .waitFor()
  await row.getByText('RUNNING', { exact: true }).waitFor()
  await screenshot(page, 'chaos-healing')
  await row.getByRole('button', { name: 'Terminate… chaos-victim' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Terminate', exact: true }).click()
  await feed.getByText('terminated chaos-victim directly in EC2').waitFor()
})

it('marks what LCM has not observed yet, and triggers a sweep', async () => {
  const { page } = await open({ at: '#/chaos' })
  // By the time that one could press, LCM has usually seen it.
  await page.route('**/sim/v1/instances', async route => {
    const response = await route.fetch({ maxRetries: 3 })
    const { items }: { items: { tags: { Name?: string } }[] } = await response.json()
    // The others run, and have all of their buttons beside it.
    const lying = items.map(each => (each.tags.Name?.includes('nested-1') ? { ...each, state: 'pending' } : each))
    await route.fulfill({ response, json: { items: lying } })
  })
  const row = page.locator('.machines tr', { hasText: 'nested-1' })
  await row.getByRole('button', { name: 'Refresh now' }).waitFor()
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    await screenshot(page, `chaos-unseen-${width}`)
    expect(await hiddenPx(page.getByRole('region', { name: 'Machines', exact: true })), `at ${width} px`).toBe(0)
  }
  const request = page.waitForRequest('**/refresh')
  await row.getByRole('button', { name: 'Refresh now' }).click()
  expect((await request).method()).toBe('POST')
})

it('throttles AWS, loses responses and changes the preset', async () => {
  const { page } = await open({ at: '#/chaos' })
  const pending = page.locator('.scripted').getByText(/next \d+ CreateTags/)
  // LCM may make some of these calls before the page reads what is pending.
  await page.getByRole('combobox', { name: 'Number of calls' }).selectOption('50')
  await page.getByRole('combobox', { name: 'API call' }).selectOption('CreateTags')
  await page.getByRole('combobox', { name: 'Fault' }).selectOption('lose their response')
  await page.getByRole('button', { name: 'Apply' }).click()
  await pending.waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await pending.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /^realistic/ }).click()
  await page.getByText('of reads are stale').waitFor()
  await page.getByRole('button', { name: /^calm/ }).click()
  await page.getByText('All calls succeed.').waitFor()
  await page.getByLabel('Failed only').check()
  await page
    .locator('.journal')
    .getByText(/No calls yet|Response/)
    .first()
    .waitFor()
})

it('is for admins only', async () => {
  const { page } = await open({ at: '#/chaos', role: 'operator' })
  await page.getByRole('heading', { name: 'Not available for your role' }).waitFor()
  expect(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chaos' }).count()).toBe(0)
})
