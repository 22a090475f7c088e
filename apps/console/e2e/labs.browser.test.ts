import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { browserTests, screenshot } from './testing/browser-harness.ts'
import { TWO_ROUTERS } from './testing/topology-fixtures.ts'

const { open, api } = browserTests()

/** Whether others have labs or not. */
const nothing = (page: Page) =>
  page.getByRole('heading', { name: 'No labs yet' }).or(page.getByText('No labs match the filter.'))

it('disables actions on the lab of a session, and starts, stops, wipes and deletes a free one', async () => {
  const body = { name: 'labs-e2e', topology: TWO_ROUTERS, lab_reuse: true, saves_enabled: false }
  const { id: definition } = await api().call('createDefinition', { body })
  const { id } = await api().call('createSession', { body: { definition } })
  const { page } = await open({ at: `#/labs?q=${id}` })
  const row = page.locator('.lab-row')
  await row.getByRole('link', { name: 'labs-e2e' }).waitFor()
  await row.getByText('BOOTED', { exact: true }).waitFor()
  const stop = row.getByRole('button', { name: /^Stop/ })
  expect(await stop.getAttribute('aria-disabled')).toBe('true')
  expect(await stop.getAttribute('title')).toContain('cancel the session instead')
  await screenshot(page, 'labs-bound-light')
  const theirs = await open({ at: `#/labs?q=${id}`, role: 'user' })
  await nothing(theirs.page).waitFor()
  await api().call('cancelSession', { params: { id } })

  await row.locator('.col-session').getByText('none').waitFor()
  await row.getByText('WIPED', { exact: true }).waitFor()
  await row.getByRole('button', { name: /^Start/ }).click()
  await row.getByText('BOOTED', { exact: true }).waitFor()
  await stop.click()
  await row.getByText('STOPPED', { exact: true }).waitFor()
  const confirmed = async (act: string) => {
    await row.getByRole('button', { name: new RegExp(`^${act}`) }).click()
    const dialog = page.getByRole('dialog')
    const button = dialog.getByRole('button', { name: act, exact: true })
    expect(await button.isDisabled()).toBe(true)
    await dialog.getByLabel('Type').fill(await dialog.locator('code').innerText())
    await button.click()
  }
  await confirmed('Wipe')
  await row.getByText('WIPED', { exact: true }).waitFor()
  await confirmed('Delete')
  await nothing(page).waitFor()
})
