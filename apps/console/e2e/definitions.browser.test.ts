import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { browserTests, hiddenPx, PHONE, screenshot, seriousViolations, WIDTHS } from './testing/browser-harness.ts'
import { eventProxyTo } from './testing/event-proxy.ts'
import { CAMPUS, TWO_ROUTERS } from './testing/topology-fixtures.ts'

const { open, api } = browserTests()

describe('definitions', () => {
  it('are created from a file or pasted text, and wrong lines are marked', async () => {
    const { page } = await open({ at: '#/definitions' })
    await page.getByRole('button', { name: 'Create definition' }).first().click()
    const dialog = page.getByRole('dialog')
    const file = join(mkdtempSync(join(tmpdir(), 'lcm-yaml-')), 'Campus E2E.yaml')
    writeFileSync(file, CAMPUS.replace('label: dist-2', 'label: dist-1'))
    await dialog.locator('input[type=file]').setInputFiles(file)
    await expect.poll(() => dialog.getByLabel('Name').inputValue()).toBe('campus-e2e')
    await dialog.getByRole('button', { name: 'Create definition' }).click()
    await dialog.getByRole('alert').getByText('line 24').first().waitFor()
    await dialog.locator('.wrong-line').getByText('24').waitFor()
    const chosen = await dialog
      .locator('textarea')
      .evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd))
    expect(chosen).toContain('id: n3')
    await screenshot(page, 'definition-refused')
    expect(await seriousViolations(page)).toEqual([])
    // Browsers are silent about a file that is the one before, so it must not be any more once another is chosen.
    writeFileSync(file, CAMPUS)
    const choosing = page.waitForEvent('filechooser')
    await dialog.locator('input[type=file]').click()
    const chooser = await choosing
    expect(await dialog.locator('input[type=file]').inputValue()).toBe('')
    await chooser.setFiles(file)
    await expect.poll(() => dialog.locator('textarea').inputValue()).toBe(CAMPUS)
    await dialog.getByLabel('Title').fill('Campus with two cores')
    await dialog.getByRole('button', { name: 'Create definition' }).click()
    await page.getByRole('link', { name: 'campus-e2e' }).waitFor()
  })

  it('get new versions, the older folded, and are deprecated and deleted', async () => {
    const name = 'versions-e2e'
    const { id } = await api().call('createDefinition', { body: { name, topology: CAMPUS, title: 'First' } })
    const { page } = await open({ at: '#/definitions?q=versions-e2e' })
    await page.getByRole('button', { name: `New version… ${name} 1.0.0` }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Title').fill('Second')
    await dialog.getByLabel('Maximum duration').fill('90')
    await dialog.getByRole('button', { name: 'Create version' }).click()
    await page.getByRole('heading', { name: 'Second' }).waitFor()
    await page.getByText('90 minutes').waitFor()
    await page.goto(`${new URL(page.url()).origin}/#/definitions?q=${name}`)
    await page.getByRole('button', { name: `1 other version of ${name}` }).click()
    await page.getByRole('link', { name: '1.0.0', exact: true }).waitFor()
    await screenshot(page, 'definitions-unfolded')
    await page.getByRole('button', { name: `Delete… ${name} 1.0.0` }).click()
    await page.getByLabel('Type').fill(name)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: `1 other version of ${name}` }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: `Deprecate… ${name} 1.0.1` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Deprecate', exact: true }).click()
    await page.locator('tr', { hasText: name }).getByText('DEPRECATED').waitFor()
    await expect(api().call('getDefinition', { params: { id } })).rejects.toThrow()
  })

  it('from a source are synced, and show why a sync failed', async () => {
    const source = 'file:nothing-e2e.yaml'
    await api().call('createDefinition', { body: { name: 'far-e2e', source } })
    const { page } = await open({ at: '#/definitions?q=far-e2e' })
    const row = page.locator('tr', { hasText: 'far-e2e' })
    await row.getByText('failed:').waitFor()
    await row.getByRole('button', { name: 'Sync far-e2e' }).click()
    await row.getByText('failed:').waitFor()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      await screenshot(page, `definitions-sync-failed-${width}`)
      expect(await hiddenPx(row.locator('.col-actions')), `at ${width} px`).toBe(0)
      expect(await hiddenPx(page.locator('html')), `at ${width} px`).toBe(0)
    }
  })

  it('are not overwritten when another user changed them since the form was opened', async () => {
    const body = { name: 'both-e2e', source: 'file:nothing-e2e.yaml' }
    const { id } = await api().call('createDefinition', { body })
    const gate = await eventProxyTo(inject('product').url)
    try {
      const product = { ...inject('product'), url: gate.url }
      const { page } = await open({ at: '#/definitions?q=both-e2e', product })
      await page.locator('tr', { hasText: 'both-e2e' }).getByText('failed:').waitFor()
      await page.getByRole('button', { name: 'New version… both-e2e 1.0.0' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Title').fill('Mine')
      await api().call('putDefinition', { params: { id }, body: { source: body.source, title: 'Theirs' } })
      const isReadAgain = page.waitForResponse(`**/lablet-definitions/${id}`)
      gate.cutEvents()
      await isReadAgain
      await dialog.getByRole('button', { name: 'Save', exact: true }).click()
      await dialog.getByRole('alert').waitFor()
      expect((await api().call('getDefinition', { params: { id } })).title).toBe('Theirs')
    } finally {
      await gate.close()
    }
  })

  it('show where a session would be placed', async () => {
    await api().call('createDefinition', { body: { name: 'place-e2e', topology: TWO_ROUTERS } })
    const needs = { cpu_cores: 2, memory_gb: 80_000, storage_gb: 1, node_count: 2 }
    const body = { name: 'no-place-e2e', topology: TWO_ROUTERS, needs }
    const { id } = await api().call('createDefinition', { body })
    const { page } = await open({ at: '#/definitions?q=place-e2e' })
    await page.getByRole('button', { name: 'Preview… place-e2e 1.0.0', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Can be placed now').waitFor()
    expect(await dialog.getByRole('row').count()).toBeGreaterThan(1)
    await screenshot(page, 'definition-preview')
    await page.keyboard.press('Escape')
    await page.goto(`${new URL(page.url()).origin}/#/definitions/${id}`)
    await page.getByRole('heading', { name: 'Placement of a session that starts now' }).waitFor()
    await page.getByRole('region', { name: 'No capacity' }).getByText('metal-1').waitFor()
  })

  it('are read-only for operators and users, and users see no YAML', async () => {
    await api().call('createDefinition', { body: { name: 'user-e2e', topology: CAMPUS } })
    const { page } = await open({ at: '#/definitions?q=user-e2e', role: 'operator' })
    await page.getByRole('button', { name: 'Preview… user-e2e 1.0.0' }).waitFor()
    expect(await page.getByRole('button', { name: /Create definition|Deprecate|New version/ }).count()).toBe(0)
    const theirs = await open({ at: '#/definitions/user-e2e', role: 'user' })
    await theirs.page.getByRole('img', { name: '8 nodes, 9 links' }).waitFor()
    await theirs.page.getByText('Only authors and operators can see the YAML.').waitFor()
    expect(await theirs.page.getByText('Topology as YAML').count()).toBe(0)
  })
})

describe('a definition', () => {
  it('is drawn as a movable graph with a list', async () => {
    const { id } = await api().call('createDefinition', {
      body: { name: 'graph-e2e', title: 'Campus', topology: CAMPUS },
    })
    const { page } = await open({ at: `#/definitions/${id}` })
    await page.getByRole('img', { name: '8 nodes, 9 links' }).waitFor()
    const place = () => page.locator('.topology-box svg > g').getAttribute('transform')
    const fit = await place()
    expect(await page.locator('.topology-node').count()).toBe(8)
    const box = page.locator('.topology-box')
    await box.focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('+')
    await expect.poll(place).not.toBe(fit)
    await page.keyboard.press('0')
    await expect.poll(place).toBe(fit)
    await box.hover()
    await page.mouse.wheel(0, -100)
    await expect.poll(place).not.toBe(fit)
    await page.getByRole('button', { name: 'Fit' }).click()
    await expect.poll(place).toBe(fit)
    await screenshot(page, 'definition-desktop-light')
    await page.getByText('Nodes and links as a list').click()
    await page.getByRole('list', { name: 'Links' }).getByText('core-1 – dist-1').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize(PHONE)
    await screenshot(page, 'definition-phone-dark')
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
  })

  it('shows not found', async () => {
    const { page } = await open({ at: '#/definitions/ld-nothing' })
    await page.getByRole('heading', { name: 'Definition not found' }).waitFor()
  })
})
