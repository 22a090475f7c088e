import { readFileSync } from 'node:fs'
import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { systemClock } from '@lcm/runtime/clock'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { browserTests, clientOf, DESKTOP, PHONE, screenshot, seriousViolations } from './testing/browser-harness.ts'

const { open, api } = browserTests()

const LAB = 'overview-e2e'
const HUGE = 'overview-e2e-huge'
const LEAKED = '<img src=x onerror=alert(3)>'
const MINUTE_MS = 60_000
/** A new product has no costs of past days. */
const WEEK = [
  { spent_usd: 52, saved_usd: 11 },
  { spent_usd: 61, saved_usd: 18 },
  { spent_usd: 47, saved_usd: 26 },
  { spent_usd: 55, saved_usd: 9 },
  { spent_usd: 14, saved_usd: 31 },
  { spent_usd: 9, saved_usd: 20 },
  { spent_usd: 63, saved_usd: 3 },
]

const book = (definition: string, startInMinutes: number, minutes: number) => {
  const start = toInstant(systemClock.now() + startInMinutes * MINUTE_MS)
  return api().call('createSession', {
    body: { definition, start, duration_minutes: minutes, best_effort: definition === HUGE },
  })
}

/** As the worker-controller reports it that could not give a license back. */
async function leakLicense(): Promise<string> {
  const body = { name: 'overview-e2e', role: 'controller', service: 'worker-controller' } as const
  const { secret } = await api().call('createToken', { body })
  const { items } = await api().call('listServices', {})
  const epoch = items.find(({ service }) => service === 'worker-controller')?.term?.epoch ?? 0
  const leak = {
    worker_id: LEAKED,
    udi: 'UDI-1',
    hostname: 'cml-7',
    product: 'CML_Enterprise',
    reason: textReason('it vanished'),
  }
  const { id } = await clientOf({ ...inject('product'), token: secret }).call('reportLicenseLeak', {
    body: leak,
    epoch,
  })
  return id
}

/** From an image that there is none of. */
async function workerThatFails(): Promise<void> {
  const capacity = { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 }
  const machine = { instance_types: ['m5zn.metal'], ami_name_pattern: 'none-*', ami_owner: 'self' }
  const body = { name: 'overview-e2e', ...machine, capacity, cost_per_hour_usd: 4 }
  await api().call('createTemplate', { body })
  await api().call('createWorker', { body: { template_name: 'overview-e2e', name: 'overview-e2e-failed' } })
}

let waiting = ''
beforeAll(async () => {
  const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8')
  await api().call('createDefinition', { body: { name: LAB, topology, max_duration_minutes: 240 } })
  const needs = { cpu_cores: 2, memory_gb: 80_000, storage_gb: 1, node_count: 2 }
  await api().call('createDefinition', { body: { name: HUGE, topology, needs } })
  await workerThatFails()
  waiting = (await book(HUGE, 0, 60)).id
  await book(LAB, 0, 90)
  await book(LAB, 30, 120)
})

describe('the overview', () => {
  it('lists problems first, with links', async () => {
    const { page } = await open({ at: '#/overview' })
    await page
      .locator('.attention-item', { hasText: 'overview-e2e-failed' })
      .getByText(/none-\*/)
      .waitFor()
    const group = page.locator('.affected', { hasText: HUGE })
    await group.getByText(/1 session waits: /).waitFor()
    await group.getByText('you', { exact: true }).click()
    await screenshot(page, 'overview-affected-light')
    expect(await seriousViolations(page)).toEqual([])
    await group.getByRole('link', { name: `you, ${HUGE}` }).click()
    await page.waitForURL(url => url.hash === `#/sessions/${waiting}`)
  })

  it('lists a leaked license until an operator resolves it', async () => {
    const id = await leakLicense()
    const { page } = await open({ at: '#/overview' })
    const item = page.locator('.attention-item', { hasText: LEAKED })
    await item.getByText('it vanished · cml-7').waitFor()
    await screenshot(page, 'overview-attention-light')
    await item.getByRole('button', { name: 'Resolve' }).click()
    await page.getByRole('dialog').getByText('CML_Enterprise · cml-7 · UDI-1').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Mark as released' }).click()
    await item.waitFor({ state: 'detached' })
    const { items } = await api().call('listLicenseLeaks', {})
    expect(items.find(leak => leak.id === id)?.resolved_by).toBe('admin')
  })

  it('shows the fleet, its capacity, its cost and the sessions of today', async () => {
    const { page } = await open({ at: '#/settings' })
    await page.route('**/api/v1/fleet/summary?**', async route => {
      const answer = await route.fetch({ maxRetries: 3 })
      const summary = await answer.json()
      const by_day = summary.cost.by_day.map((day: object, n: number) => ({ ...day, ...WEEK[n] }))
      await route.fulfill({ json: { ...summary, cost: { ...summary.cost, spent_usd: 301, saved_usd: 118, by_day } } })
    })
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    const fleet = page.getByRole('region', { name: 'Fleet' })
    await fleet.getByRole('link', { name: /^RUNNING/ }).waitFor()
    const capacity = page.getByRole('region', { name: 'Capacity' })
    await capacity.getByText(/^\d+(\.\d+)? of [\d,]+ cores/).waitFor()
    const week = page.getByRole('list', { name: 'Spent and saved by day, in UTC' })
    await week.getByRole('listitem').nth(6).waitFor()
    expect(await week.getByRole('listitem').count()).toBe(7)
    await week.getByText('$61.00 spent, $18.00 saved').waitFor()
    expect(await page.getByRole('region', { name: 'Cost' }).innerText()).toMatch(/per hour, now\s+\$\d+\.\d\d/)
    const today = page.getByRole('region', { name: 'Sessions today' })
    await today
      .getByRole('link', { name: new RegExp(`^you ${LAB}, .+ to `) })
      .first()
      .waitFor()
    for (const [device, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE }))
      for (const theme of ['light', 'dark'] as const) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme: theme })
        await screenshot(page, `overview-full-${device}-${theme}`, { fullPage: true })
        expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
      }
    await fleet.getByRole('link', { name: /^RUNNING/ }).click()
    await page.waitForURL(url => url.hash === '#/workers?status=RUNNING')
  })

  it('of a new installation shows the first steps', async () => {
    const { page } = await open({ at: '#/settings' })
    const empty = JSON.stringify({ items: [], next_cursor: null, revision: '1' })
    for (const list of ['workers', 'lablet-definitions', 'lablet-sessions', 'lab-records'])
      await page.route(`**/api/v1/${list}?**`, route => route.fulfill({ contentType: 'application/json', body: empty }))
    await page.route('**/api/v1/events', () => undefined)
    await page.goto(`${inject('product').url}/#/overview`)
    await page.reload()
    await page.getByRole('heading', { name: 'Three steps to your first lab' }).waitFor()
    await screenshot(page, 'overview-new-light')
    expect(await seriousViolations(page)).toEqual([])
    await page.setViewportSize(PHONE)
    await page.emulateMedia({ colorScheme: 'dark' })
    await screenshot(page, 'overview-new-phone-dark')
    await page.getByRole('button', { name: 'Create worker' }).click()
    await page.getByRole('dialog', { name: 'Create worker' }).waitFor()
  })
})
