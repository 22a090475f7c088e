import { describe, expect, it } from 'vitest'
import { browserTests, PHONE, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open, api } = browserTests()
const named = async (name: string) =>
  (await api().call('listPeople', { query: { limit: 1000 } })).items.find(person => person.name === name)

describe('people', () => {
  it('are created, invited, edited and removed', async () => {
    const { page } = await open({ at: '#/people' })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Create person' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Jane E2E')
    await dialog.getByLabel('Email').fill('jane')
    await dialog.getByLabel('Groups').fill('bgp-101, ospf')
    await dialog.getByRole('button', { name: 'Create person' }).click()
    await dialog.getByRole('alert').getByText('an email address').waitFor()
    await dialog.getByLabel('Email').fill('jane@example.org')
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create person' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('searchbox', { name: 'Search people' }).fill('jane e2e')
    const row = page.locator('.person', { hasText: 'Jane E2E' })
    await row.getByText('bgp-101, ospf').waitFor()

    const pick = async (action: string) => {
      await row.getByRole('button', { name: 'Actions for Jane E2E' }).click()
      await page.locator('.menu-item', { hasText: action }).click()
    }
    await pick('Invite')
    const link = page.getByRole('status').filter({ hasText: 'Jane E2E' })
    await link.getByRole('button', { name: 'Copy link' }).click()
    await link.getByText('Copied').waitFor()
    const url = await page.evaluate(() => navigator.clipboard.readText())
    expect(url).toMatch(/^http:\/\/[^/]+\/#\/sign-in\?code=[\w-]{32}$/)
    await screenshot(page, 'people-invited-light')
    await page.setViewportSize(PHONE)
    await screenshot(page, 'people-invited-phone-light')
    await link.getByRole('button', { name: 'Done' }).click()

    await pick('Edit')
    await dialog.getByLabel('Role').selectOption('author')
    await dialog.getByText('ends all sign-ins').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('author').waitFor()
    expect(await named('Jane E2E')).toMatchObject({ role: 'author', email: 'jane@example.org' })

    await pick('Revoke access')
    await dialog.getByRole('button', { name: 'Revoke access' }).click()
    await page.getByText('Access of Jane E2E revoked').waitFor()

    await pick('Remove')
    await dialog.getByRole('textbox').fill('Jane E2E')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await row.waitFor({ state: 'detached' })
    expect(await named('Jane E2E')).toBeUndefined()
  })

  it('that an operator may not manage say why', async () => {
    const { page } = await open({ at: '#/people?q=admin', role: 'operator' })
    await page.getByRole('button', { name: 'Actions for admin' }).click()
    const items = page.locator('.menu-item')
    await items.first().getByText('Only administrators manage administrators and operators').waitFor()
    expect(await items.and(page.locator('[aria-disabled=true]')).count()).toBe(4)
  })

  it('are not shown to users', async () => {
    const { page } = await open({ at: '#/people', role: 'user' })
    await page.getByText('Only administrators and operators can see people.').waitFor()
    expect(await page.getByRole('navigation').getByRole('link', { name: 'People' }).count()).toBe(0)
  })
})
