import { describe, expect, it } from 'vitest'
import { browserTests, PHONE, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open, api } = browserTests()
const PRODUCT = 'CML_Personal40'
const pool = async () =>
  (await api().call('listLicensePools', { query: {} })).items.find(({ product }) => product === PRODUCT)

describe('license pools', () => {
  it('are created, changed and deleted, and show who holds seats and who waits', async () => {
    const { page } = await open({ at: '#/licenses' })
    await page.getByRole('button', { name: 'Create pool' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Product').fill(PRODUCT)
    await dialog.getByLabel('Seats').fill('1')
    const create = dialog.getByRole('button', { name: 'Create pool' })
    expect(await create.isDisabled()).toBe(true)
    await dialog.getByLabel('Token').fill('e2e-token')
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'license-pool-dialog-light')
    await create.click()
    await dialog.waitFor({ state: 'detached' })
    const card = page.getByRole('region', { name: PRODUCT })
    await card.getByText('1 of 1 free').waitFor()

    const license = { product: PRODUCT }
    const create2 = (name: string) => api().call('createWorker', { body: { template_name: 'metal', name, license } })
    const first = await create2('pooled-one')
    const second = await create2('pooled-two')
    await page.reload()
    await card.getByText('0 of 1 free').waitFor()
    await card.getByRole('link', { name: 'pooled-one' }).waitFor()
    await card.getByText('limited to 5 nodes: pooled-two').waitFor()
    await screenshot(page, 'licenses-waiting-light')
    await page.setViewportSize(PHONE)
    await page.emulateMedia({ colorScheme: 'dark' })
    await screenshot(page, 'licenses-waiting-phone-dark')
    expect(await seriousViolations(page)).toEqual([])

    await card.getByRole('button', { name: `Edit ${PRODUCT}` }).click()
    await dialog.getByLabel('Seats').fill('2')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await card.getByRole('link', { name: 'pooled-two' }).waitFor()
    expect(await pool()).toMatchObject({ seats: 2, free: 0, waiting: [] })

    await card.getByRole('button', { name: `Delete ${PRODUCT}` }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText(`Could not delete the license pool ${PRODUCT}`).waitFor()
    for (const { id } of [first, second]) await api().call('terminateWorker', { params: { id }, body: {} })
  })

  it('are not shown to users', async () => {
    const { page } = await open({ at: '#/licenses', role: 'user' })
    await page.getByText('Only administrators and operators can see licenses.').waitFor()
  })
})
