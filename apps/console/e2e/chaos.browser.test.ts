import { beforeAll, expect, it } from 'vitest'
import { browserTests, hiddenPx, screenshot, seriousViolations, WIDTHS } from './testing/browser.ts'
import { workerFixtures } from './testing/worker-fixtures.ts'

const { open, api } = browserTests()
const workers = workerFixtures(api)

let victim: { readonly id: string; readonly ec2_instance_id: string | null }
beforeAll(async () => {
  victim = await workers.serving('chaos-victim')
})

it('breaks a CML and heals it', async () => {
  const { page } = await open({ at: '#/chaos' })
  const row = page.locator('.machines tr', { hasText: 'chaos-victim' })
  const pick = async (label: string) => {
    await row.getByRole('button', { name: 'CML of chaos-victim' }).click()
    await page.getByRole('dialog').getByRole('button', { name: label }).click()
  }
  await pick('Cut the network')
  await row.getByText('network cut').waitFor()
  await pick('Answer 500')
  await row.getByText('answers 500').waitFor()
  await pick('Forget all sessions')
  await pick('Heal CML')
  await row.getByText('network cut').waitFor({ state: 'detached' })
})

it('stops a machine behind its back, and LCM is seen to heal it', async () => {
  const { page } = await open({ at: '#/chaos' })
  const row = page.locator('.machines tr', { hasText: 'chaos-victim' })
  await row.getByRole('button', { name: 'Stop chaos-victim' }).click()
  const feed = page.locator('.feed')
  await feed.getByText("stopped chaos-victim behind LCM's back").waitFor()
  await api().call('refreshWorker', { params: { id: victim.id }, body: {} })
  // What stands above the deed came after it.
  await feed
    .locator('.feed-line:not(.deed):has(~ .deed)', { hasText: /EC2.*stop/ })
    .first()
    .waitFor()
  await row.getByText('RUNNING', { exact: true }).waitFor()
  await screenshot(page, 'chaos-healing')
  await row.getByRole('button', { name: 'Terminate… chaos-victim' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Terminate', exact: true }).click()
  await feed.getByText("terminated chaos-victim behind LCM's back").waitFor()
})

it('marks what LCM has not seen yet, and lets it look', async () => {
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
  await row.getByRole('button', { name: 'Look now' }).waitFor()
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    await screenshot(page, `chaos-unseen-${width}`)
    expect(await hiddenPx(page.getByRole('region', { name: 'Machines', exact: true })), `at ${width} px`).toBe(0)
  }
  const asked = page.waitForRequest('**/refresh')
  await row.getByRole('button', { name: 'Look now' }).click()
  expect((await asked).method()).toBe('POST')
})

it('throttles AWS, loses answers and changes the weather', async () => {
  const { page } = await open({ at: '#/chaos' })
  await page.getByLabel('Calls of').selectOption('CreateTags')
  await page.getByLabel('Meet').selectOption('lose their answer')
  await page.getByRole('button', { name: 'Let it be so' }).click()
  await page.locator('.scripted').getByText('next 3 CreateTags').waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await page.getByRole('button', { name: 'Take back' }).click()
  await page.locator('.scripted').getByText('next 3 CreateTags').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /^realistic/ }).click()
  await page.getByText('of reads show the past').waitFor()
  await page.getByRole('button', { name: /^calm/ }).click()
  await page.getByText('Every call is answered, and truly.').waitFor()
  await page.getByLabel('Only what failed').check()
  await page
    .locator('.journal')
    .getByText(/No such call yet|Answer/)
    .first()
    .waitFor()
})

it('is for admins alone', async () => {
  const { page } = await open({ at: '#/chaos', role: 'operator' })
  await page.getByRole('heading', { name: 'Not for your role' }).waitFor()
  expect(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chaos' }).count()).toBe(0)
})
