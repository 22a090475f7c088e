import type { WorkerView } from '@lcm/contract/worker'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { browserTests, screenshot, seriousViolations } from './testing/browser-harness.ts'
import { HOSTILE, workerFixtures } from './testing/worker-fixtures.ts'

const { open, api } = browserTests()
const own = workerFixtures(api)

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
const inStatus = (page: Page, name: string, status: string) =>
  page.locator(`.worker-row[data-status="${status}"]`).filter({ hasText: name })
const dialogOf = (page: Page) => page.getByRole('dialog')
const names = (page: Page) => page.locator('.col-name a').allTextContents()

async function pickFromMenu(page: Page, name: string, item: RegExp): Promise<void> {
  await rowOf(page, name)
    .getByRole('button', { name: /^More actions/ })
    .click()
  await dialogOf(page).getByRole('button', { name: item }).click()
}

let kept: WorkerView
let busy: WorkerView
beforeAll(async () => {
  const [first, , third] = await Promise.all([
    own.serving('list-a1'),
    own.make('list-a2', { aws_region: 'eu-west-1' }),
    own.withSession('list-busy', 'CML_Internal'),
  ])
  kept = await api().call('patchWorker', { params: { id: first.id }, body: { protected: true } })
  busy = third.worker
})

describe('the list of workers', () => {
  it('is filtered and sorted, and the address keeps both', async () => {
    const { page } = await open({ at: '#/workers?q=list-' })
    await expect.poll(() => names(page)).toEqual(['list-a1', 'list-a2', 'list-busy'])
    await page.getByRole('button', { name: 'Worker', exact: true }).click()
    await expect.poll(() => names(page)).toEqual(['list-busy', 'list-a2', 'list-a1'])
    const region = page.getByRole('columnheader', { name: 'Region' })
    await region.getByRole('button').click()
    await expect.poll(() => names(page)).toEqual(['list-a2', 'list-a1', 'list-busy'])
    await expect.poll(() => region.getAttribute('aria-sort')).toBe('ascending')
    await page.getByRole('combobox', { name: 'Region' }).selectOption('eu-west-1')
    await expect.poll(() => names(page)).toEqual(['list-a2'])
    await page.getByRole('combobox', { name: 'Template' }).selectOption('nested')
    await expect
      .poll(() => new URL(page.url()).hash)
      .toBe('#/workers?region=eu-west-1&template=nested&q=list-&sort=region')
    await page.reload()
    await expect.poll(() => names(page)).toEqual(['list-a2'])
    await page.getByLabel('Search by name').fill('nothing has this name')
    await page.getByText('No workers match the filter.').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await rowOf(page, 'metal-1').waitFor()
  })

  it('shows the status of each worker', async () => {
    const { page } = await open({ at: '#/workers?q=list-busy' })
    const row = rowOf(page, 'list-busy')
    await row.getByText('RUNNING').waitFor()
    await expect.poll(() => row.locator('.col-sessions').textContent()).toBe('1')
    expect(await row.locator('.col-cost').textContent()).toMatch(/\$\d+\.\d\d\/h/)
    await page.getByRole('searchbox').fill('metal-1')
    await expect.poll(() => rowOf(page, 'metal-1').locator('.col-cpu').textContent()).toMatch(/\d+ %/)
  })

  it('offers no actions to users who may only read', async () => {
    const { page } = await open({ at: '#/workers?q=list-a', role: 'user' })
    await rowOf(page, 'list-a1').waitFor()
    expect(await page.locator('.worker-row button, .worker-row input').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Create worker' }).count()).toBe(0)
    await screenshot(page, 'workers-user-light')
  })

  it("labels session counts as theirs for users who can't see other sessions", async () => {
    const { page } = await open({ at: '#/workers?q=list-busy', role: 'user' })
    await expect.poll(() => rowOf(page, 'list-busy').locator('.col-sessions').textContent()).toBe('0')
    expect(await page.getByRole('columnheader', { name: 'My sessions' }).count()).toBe(1)
  })
})

describe('one worker of the list', () => {
  it('is created, boots, stops, starts, is terminated and deleted', async () => {
    const { page } = await open({ at: '#/workers' })
    await page.getByRole('button', { name: 'Create worker' }).click()
    await dialogOf(page)
      .getByRole('radio', { name: /^nested \$/ })
      .check()
    await dialogOf(page).getByLabel('Region').selectOption('eu-west-1')
    await dialogOf(page).getByLabel('Name').fill('list-new')
    await screenshot(page, 'workers-create-light')
    expect(await seriousViolations(page)).toEqual([])
    await dialogOf(page).getByRole('button', { name: 'Create worker' }).click()
    await inStatus(page, 'list-new', 'RUNNING').waitFor()
    await page.getByRole('button', { name: 'Stop list-new' }).click()
    await inStatus(page, 'list-new', 'STOPPED').waitFor()
    await page.getByRole('button', { name: 'Start list-new' }).click()
    await inStatus(page, 'list-new', 'STARTING').waitFor()

    await pickFromMenu(page, 'list-new', /^Terminate/)
    const terminate = dialogOf(page).getByRole('button', { name: 'Terminate', exact: true })
    await dialogOf(page).getByLabel(/^Type/).fill('list-ne')
    await expect.poll(() => terminate.isDisabled()).toBe(true)
    await dialogOf(page).getByLabel(/^Type/).fill('list-new')
    await terminate.click()
    await rowOf(page, 'list-new').waitFor({ state: 'detached' })

    await page.goto(page.url().replace(/#.*/, '#/workers?status=TERMINATED&q=list-new'))
    await page.getByRole('button', { name: /^Remove record/ }).click()
    await dialogOf(page).getByRole('button', { name: 'Remove' }).click()
    await rowOf(page, 'list-new').waitFor({ state: 'detached' })
  })

  it('with sessions refuses to stop, shows what would be lost, drains, and stops by force', async () => {
    const { page } = await open({ at: '#/workers?q=list-busy' })
    await page.getByLabel('Select all workers').check()
    await page.getByRole('button', { name: 'Stop 1 worker' }).click()
    await dialogOf(page).getByRole('button', { name: 'Stop 1 worker' }).click()
    await dialogOf(page)
      .getByText(/^refused: 1 sessions? lives? on list-busy/)
      .waitFor()
    await dialogOf(page).getByRole('button', { name: 'Close' }).first().click()

    await page.getByRole('button', { name: 'Stop list-busy' }).click()
    await dialogOf(page).getByRole('heading', { name: 'list-busy has 1 session' }).waitFor()
    await dialogOf(page).getByRole('link', { name: 'list-busy-lab' }).waitFor()
    await screenshot(page, 'workers-force-light')
    expect(await page.locator('.notice').count()).toBe(0)
    await dialogOf(page)
      .getByRole('button', { name: /Drain instead/ })
      .click()
    await dialogOf(page)
      .getByRole('radio', { name: /^Terminate/ })
      .check()
    await expect.poll(() => dialogOf(page).getByRole('button', { name: 'Drain', exact: true }).isDisabled()).toBe(true)
    await dialogOf(page).getByRole('radio', { name: /^Stop/ }).check()
    await dialogOf(page).getByRole('button', { name: 'Drain', exact: true }).click()
    await inStatus(page, 'list-busy', 'DRAINING').waitFor()
    await page.getByRole('button', { name: 'Cancel drain list-busy' }).click()
    await inStatus(page, 'list-busy', 'RUNNING').waitFor()

    await page.getByRole('button', { name: 'Stop list-busy' }).click()
    await dialogOf(page).getByLabel(/^Type/).fill('list-busy')
    await dialogOf(page).getByRole('button', { name: 'Force stop' }).click()
    await own.until(busy.id, worker => worker.desired_status === 'STOPPED')
    await page.getByRole('button', { name: 'Start list-busy' }).waitFor()
  })
})

describe('many workers', () => {
  it('are changed at once, and each outcome is shown', async () => {
    await Promise.all([own.make('bulk-1'), own.make('bulk-2'), own.make('bulk-3')])
    const { page } = await open({ at: '#/workers?q=bulk-' })
    await page.getByLabel('Select bulk-1').click()
    await page.getByLabel('Select bulk-3').click({ modifiers: ['Shift'] })
    const bar = page.getByRole('region', { name: 'Selected workers' })
    await expect.poll(() => bar.textContent()).toContain('3 selected')
    // A row that changes its height must not move the buttons: a click in that moment would miss them.
    const before = await bar.boundingBox()
    await page
      .locator('.worker-row')
      .first()
      .evaluate(row => {
        if (row instanceof HTMLElement) row.style.height = '120px'
      })
    expect(await bar.boundingBox()).toEqual(before)
    await screenshot(page, 'workers-bulk-light')
    await bar.getByRole('button', { name: /^Stop/ }).click()
    await dialogOf(page).getByRole('button', { name: 'Stop 3 workers' }).click()
    await dialogOf(page).getByText('3 workers accepted, 0 refused.').waitFor()
    expect(await dialogOf(page).getByText('accepted', { exact: true }).count()).toBe(3)
    await dialogOf(page).getByRole('button', { name: 'Close' }).first().click()
    await expect.poll(() => bar.count()).toBe(0)

    await api().call('patchWorker', { params: { id: kept.id }, body: { name: 'bulk-kept' } })
    await rowOf(page, 'bulk-kept').waitFor()
    await page.getByLabel('Select all workers').check()
    await bar.getByRole('button', { name: /^Terminate/ }).click()
    await dialogOf(page).getByText('The worker is protected').waitFor()
    const terminate = dialogOf(page).getByRole('button', { name: 'Terminate 3 workers' })
    await expect.poll(() => terminate.isDisabled()).toBe(true)
    await dialogOf(page).getByLabel(/^Type/).fill('3')
    await screenshot(page, 'workers-bulk-terminate-light')
    expect(await seriousViolations(page)).toEqual([])
    await terminate.click()
    await dialogOf(page).getByText('3 workers accepted, 0 refused.').waitFor()
  })
})

it('shows a hostile name as text everywhere', async () => {
  const { id } = await own.make(HOSTILE)
  const { page } = await open({ at: '#/workers?q=onerror' })
  let isAlarmed = false
  page.on('dialog', alarm => {
    isAlarmed = true
    alarm.dismiss()
  })
  await rowOf(page, HOSTILE).waitFor()
  await page.getByLabel(`Select ${HOSTILE}`).check()
  await page.getByRole('button', { name: 'Stop 1 worker' }).click()
  await dialogOf(page).waitFor()
  await page.keyboard.press('Escape')
  await pickFromMenu(page, HOSTILE, /^Terminate/)
  await dialogOf(page)
    .getByRole('heading', { name: `Terminate ${HOSTILE}?` })
    .waitFor()
  await api().call('patchWorker', { params: { id }, body: { protected: true } })
  await dialogOf(page).getByLabel(/^Type/).fill(HOSTILE)
  await dialogOf(page).getByRole('button', { name: 'Terminate', exact: true }).click()
  await page.locator('.notice').getByText(`Could not terminate ${HOSTILE}`).waitFor()

  await page.getByRole('link', { name: HOSTILE }).click()
  await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor()
  await expect.poll(() => page.title()).toBe(`${HOSTILE} · LCM`)
  await page.getByRole('img', { name: /^Lifecycle: now/ }).waitFor()
  await page.locator('.why .decision').first().waitFor()
  await page.getByText('Raw JSON').click()
  await page.getByText(`"name": "${HOSTILE}"`).waitFor()
  expect(await page.locator('img[src="x"]').count()).toBe(0)
  expect(isAlarmed).toBe(false)
})
