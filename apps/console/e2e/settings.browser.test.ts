import { readFileSync } from 'node:fs'
import type { BodyInput } from '@lcm/contract/routes'
import type { SettingName } from '@lcm/domain/fleet/settings'
import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { describe, expect, inject, it } from 'vitest'
import { browserTests, PHONE, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open, api } = browserTests()
const settingNow = async (name: SettingName) => (await api().call('getSettings', {})).settings[name]

describe('settings', () => {
  it('are changed in place and reset', async () => {
    const { page } = await open({ at: '#/settings' })
    const setting = page.locator('.setting', { hasText: 'terminated_retention_days' })
    await setting.getByText('30 days').waitFor()
    await setting.getByText('default', { exact: true }).waitFor()
    await setting.getByRole('button', { name: 'Edit' }).click()
    const field = setting.getByRole('textbox', { name: 'Terminated worker retention' })
    await field.fill('soon')
    await setting.locator('button:disabled', { hasText: 'Save' }).waitFor()
    await field.fill('99999')
    await setting.getByRole('button', { name: 'Save' }).click()
    await setting.getByRole('alert').getByText(/3650/).waitFor()
    expect(await settingNow('terminated_retention_days')).toEqual({ value: 30, source: 'default' })
    await screenshot(page, 'settings-refused-light')
    await field.fill('45')
    await field.press('Enter')
    await setting.getByText('45 days').waitFor()
    await setting.getByText('set here').waitFor()
    expect(await settingNow('terminated_retention_days')).toEqual({ value: 45, source: 'given' })
    await setting.getByRole('button', { name: 'Edit' }).click()
    await setting.getByRole('button', { name: 'Reset' }).click()
    await setting.getByText('30 days').waitFor()
    expect(await settingNow('terminated_retention_days')).toEqual({ value: 30, source: 'default' })
  })

  it('changed by other users are shown at once, and choices can be selected', async () => {
    const { page } = await open({ at: '#/settings' })
    const setting = page.locator('.setting', { hasText: 'license_on_stop' })
    await setting.getByText('keep', { exact: true }).waitFor()
    await api().call('patchSettings', { body: { license_on_stop: 'release' } })
    await setting.getByText('release', { exact: true }).waitFor()
    await setting.getByRole('button', { name: 'Edit' }).click()
    await setting.getByRole('combobox', { name: 'License on stop' }).selectOption('keep')
    await setting.getByRole('button', { name: 'Save' }).click()
    await setting.getByText('set here').waitFor()
    expect(await settingNow('license_on_stop')).toEqual({ value: 'keep', source: 'given' })
    await api().call('patchSettings', { body: { license_on_stop: null } })
    await setting.getByText('default', { exact: true }).waitFor()
  })

  it('changed by another user are overwritten only after a warning', async () => {
    const { page } = await open({ at: '#/settings' })
    const setting = page.locator('.setting', { hasText: 'journal_retention_days' })
    await setting.getByRole('button', { name: 'Edit' }).click()
    await setting.getByRole('textbox').fill('50')
    const change = async (body: BodyInput<'patchSettings'>) => {
      const { updated_at } = await api().call('patchSettings', { body })
      await page.locator(`.page-head time[datetime="${updated_at}"]`).waitFor()
    }
    await change({ journal_retention_days: 44 })
    await setting.getByRole('button', { name: 'Save' }).click()
    await setting.getByRole('alert').getByText('44 days').waitFor()
    expect(await settingNow('journal_retention_days')).toEqual({ value: 44, source: 'given' })
    await change({ terminated_retention_days: 31 })
    await setting.getByRole('button', { name: 'Save' }).click()
    await setting.getByText('50 days').waitFor()
    expect(await settingNow('journal_retention_days')).toEqual({ value: 50, source: 'given' })
    await change({ journal_retention_days: null, terminated_retention_days: null })
  })
})

describe('a setting that takes promised capacity', () => {
  it('lists the booked sessions first, and changes only when it is confirmed', async () => {
    await api().call('patchSettings', { body: { max_workers_per_region: 100 } })
    // Larger than any worker that is there, so that only new ones hold its sessions.
    const large = { cpu_cores: 96, memory_gb: 384, storage_gb: 200, max_nodes: 200 }
    const machine = { instance_types: ['m7i.metal-24xl'], ami_name_pattern: 'cml-2.9.1-*', ami_owner: 'self' }
    await api().call('createTemplate', {
      body: { name: 'settings-e2e', ...machine, capacity: large, cost_per_hour_usd: 5 },
    })
    const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8')
    const needs = { cpu_cores: 90, memory_gb: 300, storage_gb: 5, node_count: 2 }
    await api().call('createDefinition', { body: { name: 'settings-e2e-lab', topology, needs } })
    const start = toInstant(systemClock.now() + 30 * 86_400_000)
    const booking = { definition: 'settings-e2e-lab', start, seats: 2 }
    const { items: sessions } = await api().call('createSessions', { body: booking })
    const { page } = await open({ at: '#/settings' })
    const setting = page.locator('.setting', { hasText: 'scale_up_enabled' })
    const dialog = page.getByRole('dialog')
    const disable = async () => {
      await setting.getByRole('button', { name: 'Edit' }).click()
      await setting.getByRole('combobox', { name: 'Scale up' }).selectOption('off')
      await setting.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText(/\d+ booked sessions would lose their promised capacity/).waitFor()
    }
    await disable()
    await dialog.getByText('Set Scale up to off?').waitFor()
    await dialog.getByText(/^\d+ sessions$/).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'settings-capacity-loss-light')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await setting.getByRole('button', { name: 'Cancel' }).click()
    expect(await settingNow('scale_up_enabled')).toEqual({ value: true, source: 'default' })
    await disable()
    await dialog.getByRole('button', { name: 'Change anyway' }).click()
    await setting.getByText('set here').waitFor()
    expect(await settingNow('scale_up_enabled')).toEqual({ value: false, source: 'given' })
    await api().call('patchSettings', { body: { scale_up_enabled: null, max_workers_per_region: null } })
    for (const { id } of sessions) await api().call('cancelSession', { params: { id } })
    await api().call('disableTemplate', { params: { name: 'settings-e2e' } })
  })
})

describe('notification targets', () => {
  it('are created, tested with the real outcome, and deleted', async () => {
    const { page } = await open({ at: '#/settings' })
    await page.getByRole('button', { name: 'Create target' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('settings-e2e')
    await dialog.getByLabel('URL').fill('http://127.0.0.1:9/a-secret-path')
    await dialog.getByLabel('Lowest severity').selectOption('critical')
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create target' }).click()
    const row = page.locator('.token', { hasText: 'settings-e2e' })
    await row.getByText('127.0.0.1:9').waitFor()
    await row.getByText('Critical only').waitFor()
    await row.getByRole('button', { name: 'Test' }).click()
    await page.getByText('settings-e2e did not accept the test message').waitFor()
    await row.getByText(/^Failed: /).waitFor()
    await row.getByText('Critical only').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await row.scrollIntoViewIfNeeded()
    await screenshot(page, 'settings-targets-light')
    await page.setViewportSize(PHONE)
    await row.scrollIntoViewIfNeeded()
    await screenshot(page, 'settings-targets-phone-light')
    expect(await page.content()).not.toContain('a-secret-path')
    await row.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('settings-e2e')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })
  })
})

describe('tokens', () => {
  it('are created with a secret that is shown once, and revoked', async () => {
    const { page } = await open({ at: '#/settings' })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('settings-e2e')
    await dialog.getByLabel('Role').selectOption('controller')
    await dialog.getByLabel('Service').selectOption('lablet-controller')
    await dialog.getByLabel('Expires').selectOption('in 30 days')
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create token' }).click()
    const made = page.getByRole('status').filter({ hasText: 'settings-e2e' })
    await made.getByRole('button', { name: 'Copy secret' }).click()
    await made.getByText('Copied').waitFor()
    const secret = await page.evaluate(() => navigator.clipboard.readText())
    expect(secret).toMatch(/^lcm_\S{40,}$/)
    expect(await made.locator('code').innerText()).toBe(secret)
    await made.scrollIntoViewIfNeeded()
    await screenshot(page, 'settings-secret-light')
    await made.getByRole('button', { name: 'Done' }).click()
    await made.waitFor({ state: 'detached' })
    const row = page.locator('.token', { hasText: 'settings-e2e' })
    await row.getByText('lablet-controller').waitFor()
    await row.getByText(/^Expires /).waitFor()
    await page.setViewportSize(PHONE)
    await row.scrollIntoViewIfNeeded()
    await screenshot(page, 'settings-tokens-phone-light')
    await row.getByRole('button', { name: 'Revoke' }).click()
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Revoke' })
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByRole('dialog').getByRole('textbox').fill('settings-e2e')
    await confirm.click()
    await row.waitFor({ state: 'detached' })
    const { items } = await api().call('listTokens', { query: { limit: 1000 } })
    expect(items.map(({ name }) => name)).not.toContain('settings-e2e')
  })

  it('and editing are for administrators only', async () => {
    const { page } = await open({ at: '#/overview' })
    await page.route('**/api/v1/info', async route => {
      const answer = await route.fetch({ maxRetries: 3 })
      const info = await answer.json()
      await route.fulfill({ json: { ...info, actor: { ...info.actor, role: 'operator' } } })
    })
    await page.goto(`${inject('product').url}/#/settings`)
    await page.reload()
    await page.getByText('Only administrators can change them.').waitFor()
    await page.locator('.setting', { hasText: 'min_workers' }).waitFor()
    expect(await page.getByRole('button', { name: /^Edit|Create token/ }).count()).toBe(0)
  })
})
