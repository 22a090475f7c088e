import { readFileSync } from 'node:fs'
import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { beforeAll, describe, expect, it } from 'vitest'
import { browserTests, DESKTOP, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open, api } = browserTests()

const LAB = 'forecast-e2e'
const HUGE = 'forecast-e2e-huge'
const HOUR_MS = 3_600_000
const NARROW = { width: 360, height: 780 }

const book = (definition: string, inHours: number, minutes: number) => {
  const start = toInstant(Math.ceil(systemClock.now() / HOUR_MS + inHours) * HOUR_MS)
  return api().call('createSession', {
    body: { definition, start, duration_minutes: minutes, best_effort: definition === HUGE },
  })
}

beforeAll(async () => {
  const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8')
  const needs = { cpu_cores: 12, memory_gb: 20, storage_gb: 5, node_count: 2 }
  await api().call('createDefinition', { body: { name: LAB, topology, needs, max_duration_minutes: 240 } })
  for (const hours of [30, 33, 52, 54, 100]) for (let n = 0; n < 6; n += 1) await book(LAB, hours, 110)
  const none = { cpu_cores: 2, memory_gb: 80_000, storage_gb: 1, node_count: 2 }
  await api().call('createDefinition', { body: { name: HUGE, topology, needs: none, max_duration_minutes: 240 } })
})

describe('the forecast', () => {
  it('shows load, cost, the least possible and planned machines', async () => {
    const { page } = await open({ at: '#/overview' })
    await page.getByRole('link', { name: 'Forecast', exact: true }).click()
    await page
      .getByRole('region', { name: 'Booked' })
      .getByText(/^\d+ sessions$/)
      .waitFor()
    expect(await page.getByRole('region', { name: 'Cost', exact: true }).innerText()).toMatch(
      /\$\d+\.\d\d[\s\S]*Least possible: \$/,
    )
    const machines = page.getByRole('region', { name: 'Planned machines' })
    await machines
      .getByTitle(/^bought /)
      .first()
      .waitFor()
    await machines
      .getByTitle(/^\d+ sessions?, /)
      .first()
      .waitFor()
    await screenshot(page, 'forecast-page-light', { fullPage: true })
    expect(await seriousViolations(page)).toEqual([])
  })

  it('compares settings, and keeps them in the address', async () => {
    const { page } = await open({ at: '#/forecast?days=7' })
    const card = page.getByRole('region', { name: 'What other settings would cost', exact: true })
    await card.getByRole('combobox', { name: 'Setting' }).selectOption('min_workers')
    await card.getByRole('textbox', { name: 'Value' }).fill('-1')
    await card.getByRole('button', { name: 'Compare' }).click()
    await card
      .getByRole('alert')
      .getByText(/^min_workers can't be -1/)
      .waitFor()
    await card.getByRole('textbox', { name: 'Value' }).fill('2')
    await card.getByRole('textbox', { name: 'Value' }).press('Enter')
    const row = card.getByRole('row', { name: /^min_workers=2/ })
    await row.getByText(/^\+\$\d+/).waitFor()
    expect(new URL(page.url()).hash).toBe('#/forecast?days=7&with=min_workers%3D2')
    await card.getByRole('combobox', { name: 'Setting' }).selectOption('template')
    await card.getByRole('combobox', { name: 'Value' }).selectOption({ index: 0 })
    await card.getByRole('button', { name: 'Compare' }).click()
    await card
      .getByRole('row', { name: /^template=/ })
      .getByText(/\$\d/)
      .first()
      .waitFor()
    await card.scrollIntoViewIfNeeded()
    await screenshot(page, 'forecast-variants-light')
    expect(await seriousViolations(page)).toEqual([])
    await row.getByRole('button', { name: 'Remove min_workers=2' }).click()
    await row.waitFor({ state: 'detached' })
  })

  it('warns about shortages ahead, with what to do', async () => {
    const { id } = await book(HUGE, 80, 60)
    const { page } = await open({ at: '#/forecast?days=7', viewport: DESKTOP, theme: 'dark' })
    const shortages = page.getByRole('region', { name: 'Shortages ahead' })
    await shortages.getByText(/1 session would wait\. .*Enable or create a template/).waitFor()
    await screenshot(page, 'forecast-shortage-dark')
    expect(await seriousViolations(page)).toEqual([])
    await api().call('cancelSession', { params: { id } })
  })

  it('fits a phone, and its timeline scrolls by keyboard', async () => {
    const { page } = await open({ at: '#/forecast?days=7', viewport: NARROW, theme: 'dark' })
    const timeline = page.getByRole('region', { name: 'Machines by time' })
    await timeline.waitFor()
    await screenshot(page, 'forecast-phone-dark')
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
    expect(await seriousViolations(page)).toEqual([])
    await timeline.scrollIntoViewIfNeeded()
    await screenshot(page, 'forecast-phone-timeline-dark')
    await timeline.focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => timeline.evaluate(box => box.scrollLeft)).toBeGreaterThan(0)
  })

  it('is not offered to users', async () => {
    const { page } = await open({ at: '#/forecast', role: 'user' })
    await page.getByRole('heading', { name: 'Not available for your role' }).waitFor()
    expect(await page.getByRole('link', { name: 'Forecast', exact: true }).count()).toBe(0)
  })
})
