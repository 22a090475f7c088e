import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { browserTests, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open, api } = browserTests()

const LAB = 'saves-e2e'
const OFF = 'saves-off-e2e'
const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8')
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const card = (page: Page) => page.locator('section.saves')

async function running(definition: string): Promise<string> {
  const { id } = await api().call('createSession', { body: { definition, duration_minutes: 30 } })
  await expect.poll(async () => (await api().call('getSession', { params: { id } })).status).toBe('RUNNING')
  return id
}

beforeAll(async () => {
  await api().call('createDefinition', { body: { name: LAB, topology } })
  await api().call('createDefinition', { body: { name: OFF, topology, saves_enabled: false } })
})

describe('the work in a lab', () => {
  it('is saved, downloaded, continued in another session and deleted', async () => {
    const id = await running(LAB)
    const { page } = await open({ at: `#/sessions/${id}` })
    await card(page).getByText('Not saved yet.').waitFor()
    await button(page, 'Save now').click()
    await card(page)
      .getByText(/^Saved .+ ago, 2 of 2 nodes\.$/)
      .waitFor()
    await card(page).getByText('on request').waitFor()
    await screenshot(page, 'session-saves-light')
    expect(await seriousViolations(page)).toEqual([])

    const [file] = await Promise.all([page.waitForEvent('download'), button(page, 'Download save 1').click()])
    expect(file.suggestedFilename()).toBe(`${LAB}-save-1.yaml`)
    expect(readFileSync(await file.path(), 'utf8')).toContain('running configuration')

    await button(page, /^Cancel/).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('LCM saves the configurations of its nodes first.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel session' }).click()
    await button(page, 'Continue where I left off').click()
    await dialog.getByText(/start with the configurations saved at/).waitFor()
    await screenshot(page, 'session-continue-light')
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Book' }).click()
    await page.waitForURL(url => url.hash.startsWith('#/sessions/ls-') && !url.hash.endsWith(id))
    const next = page.url().split('/').at(-1) ?? ''
    // The teardown of the first session may still store its final save.
    await expect.poll(async () => (await api().call('getSession', { params: { id } })).status).toBe('TERMINATED')
    const { items } = await api().call('listSaves', { query: { session_id: id } })
    expect(items.map(save => save.id)).toContain(
      (await api().call('getSession', { params: { id: next } })).restore_from,
    )
    await api().call('cancelSession', { params: { id: next } })

    await page.goto(`${page.url().split('#')[0]}#/sessions/${id}`)
    for (let left = items.length; left > 0; left -= 1) {
      await button(page, /^Delete save/)
        .first()
        .click()
      await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
      await expect
        .poll(async () => (await api().call('listSaves', { query: { session_id: id } })).items.length)
        .toBe(left - 1)
    }
    await card(page).waitFor({ state: 'detached' })
  })

  it('is not saved when its author switched saves off', async () => {
    const id = await running(OFF)
    const { page } = await open({ at: `#/sessions/${id}` })
    await card(page).getByText('Saves are off for this lab.').waitFor()
    expect(await button(page, 'Save now').count()).toBe(0)
    await api().call('cancelSession', { params: { id } })
  })

  it('is switched off in the form of a definition', async () => {
    const { page } = await open({ at: '#/definitions' })
    await button(page, 'Create definition').click()
    const dialog = page.getByRole('dialog')
    const reuse = dialog.getByLabel(/^Wipe the lab and reuse it/)
    expect(await reuse.isDisabled()).toBe(true)
    await dialog.getByLabel(/^Save the work of learners/).uncheck()
    await reuse.check()
    expect(await seriousViolations(page)).toEqual([])
  })
})
