import { readFileSync } from 'node:fs'
import type { WorkerView } from '@lcm/contract/worker'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { browserTests, DESKTOP, PHONE, screenshot, seriousViolations } from './testing/browser-harness.ts'
import { workerFixtures } from './testing/worker-fixtures.ts'

const { open, api } = browserTests()
const own = workerFixtures(api)
const TOKEN = 'a-secret-license-token'

const dialogOf = (page: Page) => page.getByRole('dialog')
const cardOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const press = (page: Page, name: RegExp) => page.getByRole('button', { name }).click()
async function pick(page: Page, item: RegExp): Promise<void> {
  await press(page, /^More actions/)
  await dialogOf(page).getByRole('button', { name: item }).click()
}

let worker: WorkerView
beforeAll(async () => {
  worker = await own.serving('one-worker')
})

describe('the page of a worker', () => {
  it('registers a license, holds a session, and deregisters the license', async () => {
    const { page } = await open({ at: `#/workers/${worker.id}` })
    const license = cardOf(page, 'License')
    await license.getByRole('button', { name: /^Register/ }).click()
    const token = dialogOf(page).getByLabel('Token')
    expect(await token.getAttribute('type')).toBe('password')
    await dialogOf(page).getByLabel('Product').fill('CML_Personal')
    await token.fill(TOKEN)
    await dialogOf(page).getByRole('button', { name: 'Register', exact: true }).click()
    await license.getByText('REGISTERED', { exact: true }).waitFor()

    const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8')
    const body = { name: 'one-worker-lab', topology, license_affinity: ['CML_Personal'] }
    await api().call('createDefinition', { body })
    const booking = { definition: 'one-worker-lab', duration_minutes: 60, best_effort: true }
    const session = await api().call('createSession', { body: booking })
    const ledger = cardOf(page, 'Reservations')
    const link = ledger.getByRole('link', { name: 'one-worker-lab' }).first()
    await link.waitFor()
    expect(await link.getAttribute('href')).toBe(`#/sessions/${session.id}`)
    await ledger.getByRole('heading', { name: 'Ports' }).waitFor()
    expect(await page.content()).not.toContain(TOKEN)
    await api().call('cancelSession', { params: { id: session.id } })
    await ledger.getByText('No sessions on this worker.').waitFor()

    await license.getByRole('button', { name: /^Deregister/ }).click()
    await dialogOf(page).getByRole('button', { name: 'Deregister' }).click()
    await license.getByText(/^(DEREGISTERING|UNREGISTERED)$/).waitFor()
  })

  it('draws the current status and its history, with reasons', async () => {
    const { page } = await open({ at: `#/workers/${worker.id}` })
    const life = page.getByRole('img', {
      name: /^Lifecycle: now RUNNING\. History: PENDING, PROVISIONING, STARTING/,
    })
    await life.waitFor()
    expect(await page.locator('.box.now text').textContent()).toBe('RUNNING')
    await expect.poll(() => page.locator('.step-number').allTextContents()).toEqual(['2', '3', '4'])
    await cardOf(page, 'Boot').getByText('CML ready').waitFor()

    const decisions = page.locator('.why .decision')
    await decisions.first().waitFor()
    const before = await decisions.count()
    await cardOf(page, 'Why')
      .getByRole('button', { name: /^Show more/ })
      .click()
    await expect.poll(() => decisions.count()).toBeGreaterThan(before)
    expect(await decisions.last().textContent()).toMatch(/ago/)

    await press(page, /^Stop one-worker/)
    await page.getByRole('img', { name: /now STOPPED/ }).waitFor()
    await decisions.getByText('stop', { exact: true }).first().waitFor()
    await press(page, /^Start one-worker/)
    await page.getByRole('img', { name: /now RUNNING/ }).waitFor()
  })

  it('shows the load over the range in the address', async () => {
    const fleet = await api().call('listWorkers', { query: { q: 'metal-1' } })
    const { page } = await open({ at: `#/workers/${fleet.items[0]?.id}` })
    await page.locator('.chart .u-over').nth(3).waitFor()
    const load = cardOf(page, 'Load')
    await load.getByRole('button', { name: '7d' }).click()
    await expect.poll(() => page.url()).toContain('?range=7d')
    await expect.poll(() => load.getByRole('button', { name: '7d' }).getAttribute('aria-pressed')).toBe('true')
    await page.locator('.chart .u-over').nth(3).waitFor()
    await load.getByText(/^CPU: now \d+ %, maximum \d+ %/).waitFor({ state: 'attached' })
    await load.getByText(/^Labs: .*Nodes: /).waitFor({ state: 'attached' })
  })

  it('redraws its charts when the browser turns dark', async () => {
    const { page } = await open({ at: '#/workers/metal-1', isFresh: true })
    await page.locator('.chart .u-over').nth(3).waitFor()
    const marker = page.locator('.chart .u-series .u-marker').nth(1)
    const ink = () => marker.evaluate(element => getComputedStyle(element).borderColor)
    const light = await ink()
    // Without new data only the change itself can redraw them.
    await page.route('**/api/**', () => undefined)
    await page.evaluate(() => {
      for (const chart of document.querySelectorAll('.chart .u-wrap')) chart.setAttribute('data-is-old', '')
    })
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect.poll(() => page.locator('.chart .u-wrap[data-is-old]').count()).toBe(0)
    expect(await ink()).not.toBe(light)
  })

  it('stays as wide as the screen while a chart is wider', async () => {
    const { page } = await open({ at: '#/workers', isFresh: true })
    // Charts that never learn of the new size stay as wide as the screen was.
    await page.addInitScript(() => {
      window.ResizeObserver.prototype.observe = () => undefined
    })
    await page.goto(page.url().replace(/#.*/, `#/workers/metal-1`))
    await page.reload()
    await page.locator('.chart .u-over').nth(3).waitFor()
    await page.setViewportSize(PHONE)
    const [chart, sideways] = await page.evaluate(() => [
      document.querySelector('.chart .u-wrap')?.clientWidth ?? 0,
      document.documentElement.scrollWidth - window.innerWidth,
    ])
    expect(chart).toBeGreaterThan(PHONE.width)
    expect(sideways).toBe(0)
  })

  it('performs all other actions', async () => {
    const { page } = await open({ at: `#/workers/${worker.id}` })
    await pick(page, /^Protect/)
    await page.locator('h1').getByText('protected').waitFor()
    const terminate = page.getByRole('button', { name: /^Terminate/ })
    await expect.poll(() => terminate.getAttribute('aria-disabled')).toBe('true')
    await pick(page, /^Remove protection/)
    await page.locator('h1').getByText('protected').waitFor({ state: 'detached' })
    await pick(page, /^Cordon/)
    await page.locator('h1').getByText('cordoned').waitFor()
    await pick(page, /^Uncordon/)
    await page.locator('h1').getByText('cordoned').waitFor({ state: 'detached' })
    await pick(page, /^Disable idle detection/)
    await cardOf(page, 'Activity').getByText('Idle detection is off for this worker').waitFor()

    await pick(page, /^Edit name and labels/)
    await dialogOf(page).getByLabel('Name', { exact: true }).fill('one-worker-renamed')
    await dialogOf(page)
      .getByLabel(/^Labels/)
      .fill('environment=prod\nnonsense')
    await dialogOf(page).getByText('Not a valid label: nonsense').waitFor()
    await dialogOf(page)
      .getByLabel(/^Labels/)
      .fill('environment=prod')
    await dialogOf(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'one-worker-renamed' }).waitFor()
    await cardOf(page, 'Details').getByText('Label environment').waitFor()

    const { version } = await api().call('getWorker', { params: { id: worker.id } })
    await press(page, /^Refresh/)
    await own.until(worker.id, now => now.version > version)
  })

  it('pins only the certificate that its CML showed', async () => {
    const { cml } = await api().call('getWorker', { params: { id: worker.id } })
    const { page } = await open({ at: `#/workers/${worker.id}` })
    await pick(page, /^Pin new certificate/)
    const send = (fingerprint: string) => dialogOf(page).getByLabel('Fingerprint').fill(fingerprint)
    await send('ab'.repeat(32))
    await dialogOf(page).getByRole('button', { name: 'Pin', exact: true }).click()
    await dialogOf(page).getByText(`showed the certificate ${cml.certificate_sha256}`).waitFor()
    await send(cml.certificate_sha256 ?? '')
    await dialogOf(page).getByRole('button', { name: 'Pin', exact: true }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
  })

  it('retries a failed worker', async () => {
    const template = await api().call('getTemplate', { params: { name: 'nested' } })
    const { ami_name_pattern, ami_owner, capacity, cost_per_hour_usd } = template
    const broken = { ami_name_pattern, ami_owner, capacity, cost_per_hour_usd, instance_types: ['nonsense.large'] }
    await api().call('createTemplate', { body: { ...broken, name: 'one-worker-broken' } })
    const failing = await api().call('createWorker', {
      body: { template_name: 'one-worker-broken', name: 'one-failing' },
    })
    const { page } = await open({ at: `#/workers/${failing.id}` })
    await page.getByRole('img', { name: /now FAILED/ }).waitFor()
    await press(page, /^Retry one-failing/)
    await page.getByRole('img', { name: /FAILED, PENDING/ }).waitFor()
  })

  it('is found by its name', async () => {
    const { name } = await api().call('getWorker', { params: { id: worker.id } })
    const { page } = await open({ at: `#/workers/${name}` })
    await page.getByRole('heading', { level: 1, name }).waitFor()
    expect(page.url()).toContain(`#/workers/${worker.id}`)
  })

  it('shows not found for an unknown worker', async () => {
    const { page } = await open({ at: '#/workers/w-none' })
    await page.getByRole('heading', { name: 'Worker not found' }).waitFor()
  })

  it('fits every device in light and dark, and axe finds nothing serious', async () => {
    const { page } = await open({ at: `#/workers/${worker.id}` })
    await page.locator('.why .decision').first().waitFor()
    for (const [device, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE }))
      for (const theme of ['light', 'dark'] as const) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme: theme })
        await screenshot(page, `worker-${device}-${theme}`)
        const sideways = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
        expect({ device, theme, sideways }).toEqual({ device, theme, sideways: 0 })
        expect({ device, theme, found: await seriousViolations(page) }).toEqual({ device, theme, found: [] })
      }
  })
})
