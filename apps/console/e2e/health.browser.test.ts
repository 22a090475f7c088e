import { readFileSync } from 'node:fs'
import { degraded, down } from '@lcm/domain/health'
import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { LAB_STOPPED, WORKER_UNAVAILABLE } from '@lcm/domain/session/lablet-session'
import { systemClock } from '@lcm/runtime/clock'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import {
  browserTests,
  hiddenLinesPx,
  hiddenPx,
  PHONE,
  screenshot,
  seriousViolations,
  WIDTHS,
} from './testing/browser-harness.ts'

const { open, api } = browserTests()

const MINUTE_MS = 60_000
const ago = (minutes: number) => toInstant(systemClock.now() - minutes * MINUTE_MS)
const LIMIT = reason('region_worker_limit', { region: 'us-east-1', limit: 10 })
const FULL = reason('insufficient_capacity', {
  workers: 3,
  resource: 'nodes',
  needed: 2,
  free: 1,
  node_limit: 5,
  license: null,
})
const NO_CAPACITY = reason('no_capacity', { cause: FULL, scale_up: LIMIT })
const SILENT = reason('lab_state_unknown', { worker: 'metal-2', status: 'RUNNING' })
const LOST = reason('lab_down', { worker: 'metal-3', status: 'STOPPED', restarting: true })

const LONG_OWNER = 'Ben Okonkwo-Fitzgerald'
const LONG_NAME = 'routing-fundamentals-week-3'

let lists = new Map<string, object[]>()

beforeAll(async () => {
  const topology = readFileSync('examples/labs/two-routers.yaml', 'utf8')
  await api().call('createDefinition', { body: { name: 'ospf-basics', topology } })
  const session = await api().call('createSession', { body: { definition: 'ospf-basics', duration_minutes: 30 } })
  // Only its shape is needed; other tests need the capacity.
  await api().call('cancelSession', { params: { id: session.id } })
  const worker = (await api().call('listWorkers', {})).items.find(each => each.status === 'RUNNING')
  const detail = 'connect ETIMEDOUT 203.0.113.7:443 after 10 s, and at the private address, too'
  const silence = reason('boot_stage_waiting', { stage: 'ApiAnswers', detail })
  const workers = [
    { ...worker, id: 'w-1', name: 'metal-1' },
    { ...worker, id: 'w-2', name: 'metal-2', service_status: 'UNAVAILABLE', health: down(silence, ago(13)) },
    {
      ...worker,
      id: 'w-3',
      name: 'metal-3',
      status: 'STOPPED',
      entered_status_at: ago(3),
      desired_at: ago(30),
      service_status: 'UNAVAILABLE',
      health: degraded(reason('worker_status', { worker: null, status: 'STOPPED' }), ago(3)),
    },
  ]
  const timeslot = { start: ago(20), end: toInstant(systemClock.now() + 100 * MINUTE_MS) }
  const booked = (n: number, more: Partial<LabletSession>) => ({
    ...session,
    id: `ls-${String(n).padStart(13, '0')}`,
    owner: `person:${n}`,
    owner_name: `student${n}`,
    timeslot,
    entered_status_at: ago(19),
    worker_id: 'w-1',
    ...more,
  })
  const condition = (type: string, because: Reason) => ({ type, status: true, reason: because, since: ago(13) })
  const late = {
    status: 'PENDING',
    worker_id: null,
    waiting_reason: NO_CAPACITY,
    health: down(NO_CAPACITY, ago(18)),
  } as const
  lists = new Map<string, object[]>([
    ['workers', workers],
    [
      'lablet-sessions',
      [
        booked(0, {
          status: 'RUNNING',
          owner_name: LONG_OWNER,
          definition: { ...session.definition, name: LONG_NAME },
        }),
        ...Array.from({ length: 9 }, (_, n) => booked(n + 1, late)),
        booked(10, {
          status: 'RUNNING',
          worker_id: 'w-2',
          health: degraded(SILENT, ago(13)),
          conditions: [condition(WORKER_UNAVAILABLE, SILENT)],
        }),
        booked(11, {
          status: 'RUNNING',
          worker_id: 'w-3',
          health: down(LOST, ago(3)),
          conditions: [condition(WORKER_UNAVAILABLE, LOST), condition(LAB_STOPPED, LOST)],
        }),
      ],
    ],
  ])
})

const WAITS = 'ls-0000000000001'
const DEGRADED = 'ls-0000000000010'
const DOWN = 'ls-0000000000011'

/** The console with these workers and sessions. */
async function visited(page: Page, at: string): Promise<void> {
  for (const [path, items] of lists)
    await page.route(`**/api/v1/${path}?**`, route =>
      new URL(route.request().url()).searchParams.has('status')
        ? route.fulfill({ json: { items: [], next_cursor: null, revision: '1' } })
        : route.fulfill({ json: { items, next_cursor: null, revision: '1' } }),
    )
  await page.route('**/api/v1/events**', () => undefined)
  await page.goto(`${inject('product').url}/#/${at}`)
  await page.reload()
  await page.locator('main:not(:has([aria-busy=true])) h1').first().waitFor()
}

const rowOf = (page: Page, id: string) => page.locator(`tr[data-session="${id}"]`)

describe('health', () => {
  it('is part of the badge in the list of sessions, with the reason beside it', async () => {
    const { page } = await open({ at: '#/settings' })
    await visited(page, 'sessions')
    await rowOf(page, DEGRADED)
      .locator('.badge', { hasText: /^RUNNING\s*DEGRADED$/ })
      .waitFor()
    await rowOf(page, DOWN)
      .locator('.badge', { hasText: /^RUNNING\s*DOWN$/ })
      .waitFor()
    await rowOf(page, WAITS).getByText(NO_CAPACITY.message).waitFor()
    await page.getByRole('link', { name: /^student11 ospf-basics .*RUNNING, DOWN/ }).waitFor()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      const cells = await page.locator('.session-row .col-status, .session-row .col-actions').all()
      for (const cell of cells) expect(await hiddenPx(cell), String(width)).toBe(0)
      // A reason that is cut off loses what to do.
      for (const text of await page.locator('.session-row .activity').all())
        expect(await hiddenLinesPx(text), String(width)).toBe(0)
      if (width === 1024 || width === 1280) await screenshot(page, `health-sessions-${width}`, { fullPage: true })
    }
    expect(await seriousViolations(page)).toEqual([])
    await page.getByLabel('Health').selectOption('DEGRADED')
    await expect.poll(() => page.locator('.session-row').count()).toBe(1)
    await page.setViewportSize(PHONE)
    await page.goto(`${inject('product').url}/#/sessions`)
    await rowOf(page, DOWN).waitFor()
    await screenshot(page, 'health-sessions-phone')
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
  })

  it('leaves space for whole names of people and labs, on a phone too', async () => {
    const { page } = await open({ at: '#/settings' })
    await visited(page, 'sessions')
    const row = page.locator('.session-row', { hasText: LONG_NAME })
    for (const width of [...WIDTHS, 360]) {
      await page.setViewportSize({ width, height: 900 })
      await row.getByText(LONG_OWNER).waitFor()
      for (const cell of ['.col-session', '.col-owner'])
        expect(await hiddenPx(row.locator(cell)), `${cell} at ${width}`).toBe(0)
      await expect
        .poll(() => hiddenPx(page.locator('.bar-name', { hasText: LONG_NAME })), { message: String(width) })
        .toBe(0)
    }
    expect(await seriousViolations(page)).toEqual([])
    await screenshot(page, 'health-names-360', { fullPage: true })
  })

  it('is part of the badge in the list of workers, with the reason in full', async () => {
    const { page } = await open({ at: '#/settings' })
    await visited(page, 'workers')
    const row = page.locator('.worker-row', { hasText: 'metal-2' })
    await row.locator('.badge', { hasText: /^RUNNING\s*DOWN$/ }).waitFor()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      expect(await hiddenPx(row.locator('.note')), String(width)).toBe(0)
      for (const box of [row, row.locator('.note')]) expect(await hiddenLinesPx(box), String(width)).toBe(0)
      if (width === 1024 || width === 1280) await screenshot(page, `health-workers-${width}`)
    }
    expect(await seriousViolations(page)).toEqual([])
    await page.setViewportSize(PHONE)
    await screenshot(page, 'health-workers-phone')
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.getByRole('link', { name: 'metal-2' }).click()
    await page.getByRole('heading', { name: /^DOWN for/ }).waitFor()
    await screenshot(page, 'health-worker-1280')
  })

  it('stands on top of the page of a session, with since when and what happens next', async () => {
    const { page } = await open({ at: '#/settings' })
    await visited(page, `sessions/${DEGRADED}`)
    const callout = page.getByRole('region', { name: /^DEGRADED for 13m/ })
    await callout.getByText(SILENT.message).waitFor()
    await callout.getByText('What you can do').waitFor()
    await callout.locator('code', { hasText: /^lcm why worker metal-2$/ }).waitFor()
    for (const [name, viewport] of Object.entries({ 1280: { width: 1280, height: 900 }, phone: PHONE })) {
      await page.setViewportSize(viewport)
      await screenshot(page, `health-session-${name}`)
    }
    expect(await seriousViolations(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await seriousViolations(page)).toEqual([])
  })

  it('names affected people on the overview, by cause and with the fix', async () => {
    const { page } = await open({ at: '#/settings' })
    await visited(page, 'overview')
    const group = page.locator('.affected', { hasText: '9 sessions wait' })
    await group.getByText('student1, student2, student3 and 6 more').click()
    await group.getByRole('link', { name: 'student9, ospf-basics' }).waitFor()
    await page.getByRole('link', { name: /^DOWN\s*1$/ }).waitFor()
    await group.getByText(/^Raise max_workers_per_region/).waitFor()
    await page.setViewportSize({ width: 1280, height: 900 })
    await screenshot(page, 'health-overview-1280', { fullPage: true })
    expect(await seriousViolations(page)).toEqual([])
    await page.setViewportSize(PHONE)
    await screenshot(page, 'health-overview-phone')
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
  })

  it('of a session that waits tells its learner what concerns them', async () => {
    const { page } = await open({ at: '#/settings', role: 'user' })
    await visited(page, `sessions/${WAITS}`)
    const text = page.getByText(/^No machine is free yet\./)
    await text.waitFor()
    await page.getByText(/Your lab starts as soon as one is\. LCM keeps trying until \d\d:\d\d\./).waitFor()
    expect(await page.getByText(/us-east-1|max_workers/).count()).toBe(0)
    await page.setViewportSize({ width: 1280, height: 900 })
    await screenshot(page, 'health-learner-waits-1280')
    expect(await seriousViolations(page)).toEqual([])
    await page.setViewportSize(PHONE)
    await screenshot(page, 'health-learner-waits-phone')
    await visited(page, 'sessions')
    await page.locator('.bar[aria-label*="No machine is free yet."]').first().waitFor()
    expect(await page.locator('[title*="us-east-1"], [aria-label*="us-east-1"]').count()).toBe(0)
  })
})
