import { beforeAll, describe, expect, it } from 'vitest'
import { browserTests, PHONE, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open, api } = browserTests()

const NAME = 'audit-e2e <b>bold</b>'
let id = ''
beforeAll(async () => {
  id = (await api().call('createWorker', { body: { template_name: 'metal', name: NAME } })).id
  await api().call('stopWorker', { params: { id }, body: { reason: 'because of the audit test' } })
})

const label = (text: string) => api().call('patchWorker', { params: { id }, body: { labels: { step: text } } })

describe('the audit', () => {
  it('shows actor, action, resource and reason live', async () => {
    const { page } = await open({ at: `#/audit?resource=worker:${id}` })
    const row = page.locator('tbody tr', { hasText: 'because of the audit test' })
    await row.getByText('stop', { exact: true }).waitFor()
    expect(await row.innerText()).toMatch(/desired status\s+RUNNING\s+became\s+STOPPED/)
    await label('one')
    const labeled = page.locator('tbody tr').first()
    await labeled.locator('li', { hasText: /labels: step\s*one/ }).waitFor()
    await labeled.getByText('Raw JSON').click()
    await labeled.getByText('"step": "one"').waitFor()
    await screenshot(page, 'audit-worker-light')
    await row.getByRole('link', { name: NAME, exact: true }).click()
    await page.waitForURL(url => url.hash === `#/workers/${id}`)
  })

  it('can be searched and filtered by actor', async () => {
    await label('searched')
    const { page } = await open({ at: '#/audit' })
    await page.getByLabel('Search the audit log').fill('because of the audit')
    await page.locator('tbody tr', { hasText: 'because of the audit test' }).waitFor()
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    await page.getByRole('button', { name: 'Policies and controllers' }).click()
    await page.getByText('No loaded entry matches.').waitFor()
    expect(page.url()).toContain('by=system')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.locator('tbody tr').nth(1).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await page
      .locator('tbody tr', { hasText: NAME })
      .first()
      .getByRole('link', { name: /^worker\s?: only/ })
      .click()
    await page.getByRole('button', { name: `Only worker ${NAME}` }).click()
    await page.waitForURL(url => url.hash === '#/audit')
  })

  it('loads older pages, on a phone too', async () => {
    for (let n = 0; n < 60; n += 10)
      await Promise.all(Array.from({ length: 10 }, (_, more) => label(`page ${n + more}`)))
    const { page } = await open({ at: `#/audit?resource=worker:${id}`, viewport: PHONE, theme: 'dark' })
    await page.getByText('50 entries loaded').waitFor()
    await screenshot(page, 'audit-phone-dark')
    await page.getByRole('button', { name: 'Load older entries' }).click()
    await page.locator('tbody tr', { hasText: 'because of the audit test' }).waitFor()
    await label('the newest')
    await page.locator('tbody tr').first().getByText('the newest', { exact: true }).waitFor()
    expect(await page.locator('tbody tr').count()).toBeGreaterThan(60)
  })
})
