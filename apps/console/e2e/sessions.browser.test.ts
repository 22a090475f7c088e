import { readFileSync } from 'node:fs'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { browserTests, clientOf, DESKTOP, PHONE, screenshot, seriousViolations } from './testing/browser-harness.ts'
import { eventProxyTo } from './testing/event-proxy.ts'
import { workerFixtures } from './testing/worker-fixtures.ts'

const { open, api } = browserTests()

const TOPOLOGY = readFileSync('examples/labs/two-routers.yaml', 'utf8')
const LAB = 'sessions-e2e'
const HUGE = 'sessions-e2e-huge'
const MINUTE_MS = 60_000
const HOSTILE = '<img src=x onerror=alert(1)>'

const book = (definition: string, startInMinutes = 0, minutes = 30) => {
  const start = startInMinutes === 0 ? {} : { start: toInstant(systemClock.now() + startInMinutes * MINUTE_MS) }
  // No machine can run the huge lab, so the calendar can't promise it.
  const best_effort = definition === HUGE
  return api().call('createSession', { body: { definition, duration_minutes: minutes, best_effort, ...start } })
}
/** Comes with a token of their own instead of the cookie. */
async function openAsUser(at: string) {
  const { page } = await open({ isFresh: true })
  const { secret } = await api().call('createToken', { body: { name: `user-${systemClock.now()}`, role: 'user' } })
  await page.context().clearCookies()
  await page.setExtraHTTPHeaders({ authorization: `Bearer ${secret}` })
  await page.goto(`${inject('product').url}/${at}`)
  await page.reload()
  return { page, secret }
}
const rowOf = (page: Page, id: string) => page.locator(`tr[data-session="${id}"]`)
/** Rows have one button; the menu has the others. */
async function pick(page: Page, id: string, verb: string): Promise<void> {
  await rowOf(page, id)
    .getByRole('button', { name: /^More actions/ })
    .click()
  await page
    .getByRole('dialog', { name: /^Actions for/ })
    .getByRole('button', { name: new RegExp(`^${verb}`) })
    .click()
}
/** Waits until the session is placed again after this. */
const placedAfter = (id: string, code: string) =>
  expect
    .poll(async () => {
      const { status, state_history } = await api().call('getSession', { params: { id } })
      return [status, state_history.some(({ because }) => because.code === code)]
    })
    .toEqual(['SCHEDULED', true])
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

/** Sessions of other files fill the unlicensed workers. These two have space for all, and are needed to move from and to. */
const WORKERS = ['sessions-a', 'sessions-b']
const PRODUCT = 'CML_Enterprise'
const own = workerFixtures(api)

let served = ''

beforeAll(async () => {
  const topology = TOPOLOGY.replace('pat:8080:80', 'pat:2222:22')
  await Promise.all(WORKERS.map(name => own.licensed(name, PRODUCT, 'metal')))
  const body = { name: LAB, topology, max_duration_minutes: 120, license_affinity: [PRODUCT] }
  await api().call('createDefinition', { body })
  const needs = { cpu_cores: 2, memory_gb: 90_000, storage_gb: 1, node_count: 2 }
  await api().call('createDefinition', { body: { name: HUGE, topology, needs } })
  const booking = { definition: LAB, duration_minutes: 30, reservation_id: HOSTILE }
  served = (await api().call('createSession', { body: booking })).id
})

describe('sessions', () => {
  it('are booked with a placement preview', async () => {
    const { page } = await open({ at: `#/sessions?definition=${LAB}` })
    await button(page, 'Book a session').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Definition').selectOption({ label: `${LAB} 1.0.0 · 2 cpu, 1 GB` })
    await dialog.getByText('Can be placed now').waitFor()
    await dialog.getByLabel('Minutes', { exact: true }).fill('121')
    await dialog.getByText('Enter 1 to 120 minutes.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Book' }).isDisabled()).toBe(true)
    await dialog.getByRole('button', { name: '60 minutes' }).click()
    await dialog.getByLabel('Later', { exact: true }).check()
    await dialog.getByLabel('Date and time').waitFor()
    await screenshot(page, 'sessions-book-light')
    expect(await seriousViolations(page)).toEqual([])
    const before = await page.locator('tbody tr.session-row').count()
    await dialog.getByRole('button', { name: 'Book' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('tbody tr.session-row').nth(before).waitFor()
  })

  it('show a user how much of the quota is used, and why a booking is refused', async () => {
    const { page } = await open({ at: `#/sessions?definition=${LAB}`, role: 'user' })
    const dialog = page.getByRole('dialog')
    const bookNow = async (quota: string) => {
      await button(page, 'Book a session').click()
      await dialog.getByLabel('Definition').selectOption({ label: `${LAB} 1.0.0 · 2 cpu, 1 GB` })
      await dialog.getByText(quota, { exact: true }).waitFor()
      await dialog.getByText(/^Can start/).waitFor()
      await dialog.getByLabel('Minutes', { exact: true }).fill('5')
      await dialog.getByRole('button', { name: 'Book' }).click()
    }
    for (const count of [0, 1]) {
      await bookNow(`${count} of 2 sessions open`)
      await dialog.waitFor({ state: 'detached' })
    }
    await bookNow('2 of 2 sessions open')
    await dialog.getByText('You have 2 of 2 sessions open; cancel one or ask an operator').first().waitFor()
  })

  it.each([
    ['desktop', DESKTOP, 'light'],
    ['phone', PHONE, 'dark'],
  ] as const)('are promised, or refused with another way to book: %s', async (name, size, colorScheme) => {
    const { page } = await open({ at: '#/sessions' })
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme })
    await button(page, 'Book a session').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Definition').selectOption({ label: `${LAB} 1.0.0 · 2 cpu, 1 GB` })
    await dialog.getByLabel('Later').check()
    await dialog.getByLabel('Date and time').fill('2031-01-31T09:00')
    await dialog.getByText('Capacity is promised').waitFor()
    await screenshot(page, `booking-promised-${name}`)
    await dialog.getByLabel('Seats').fill('200')
    await dialog.getByText('Not available then').waitFor()
    await dialog.getByText(/short at/).waitFor()
    await screenshot(page, `booking-refused-${name}`)
    expect(await seriousViolations(page)).toEqual([])
    await dialog.getByLabel('Book anyway, without a promise').check()
    await dialog.getByText('Best effort', { exact: true }).waitFor()
    await dialog.getByLabel('Book anyway, without a promise').uncheck()
    await dialog.getByLabel('Seats').fill('2')
    await dialog.getByText('2 seats at that time').waitFor()
    await dialog.getByLabel('Minutes', { exact: true }).fill('5')
    await dialog.getByRole('button', { name: 'Book' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { items } = await api().call('listSessions', { query: { definition: LAB, limit: 1000 } })
    expect(items.filter(({ timeslot }) => timeslot.start.startsWith('2031'))).not.toEqual([])
    for (const { id } of items.filter(({ timeslot }) => timeslot.start.startsWith('2031')))
      await api().call('cancelSession', { params: { id } })
  })

  it('take minutes that are typed in the frame that draws the maximum of another definition', async () => {
    const { page } = await open({ at: '#/sessions' })
    await button(page, 'Book a session').click()
    const dialog = page.getByRole('dialog')
    const minutes = dialog.getByLabel('Minutes', { exact: true })
    await dialog.getByLabel('Definition').selectOption({ label: `${LAB} 1.0.0 · 2 cpu, 1 GB` })
    await dialog.getByText('Maximum 120 min').waitFor()
    await minutes.evaluate(async (input: HTMLInputElement) => {
      const definition = input.form?.querySelector('select')
      const other = [...(definition?.options ?? [])].find(({ text }) => text.startsWith('two-routers'))
      if (definition && other) definition.value = other.value
      definition?.dispatchEvent(new Event('change'))
      input.select()
      for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame)
    })
    expect(await minutes.inputValue()).not.toBe('120')
    await page.keyboard.insertText('5')
    expect(await minutes.inputValue()).toBe('5')
  })

  it('are extended, requeued, moved and canceled', async () => {
    await api().call('patchSettings', { body: { schedule_ahead_minutes: 35 } })
    const { id } = await book(LAB, 30)
    const { page } = await open({ at: `#/sessions?q=${id}` })
    const row = rowOf(page, id)
    await row.getByText('SCHEDULED').waitFor()
    const bar = page.locator(`.bar[href="#/sessions/${id}"]`)
    expect(await bar.getAttribute('aria-label')).toMatch(/^you sessions-e2e 1\.0\.0, SCHEDULED, .+–.+, on /)

    await row.getByRole('button', { name: 'Extend' }).click()
    await page.getByRole('dialog').getByLabel('Additional minutes').fill('15')
    await page.getByRole('dialog').getByRole('button', { name: 'Extend', exact: true }).click()
    await expect
      .poll(async () => (await api().call('getSession', { params: { id } })).timeslot)
      .toSatisfy(({ start, end }) => Date.parse(end) - Date.parse(start) === 45 * MINUTE_MS)

    await pick(page, id, 'Requeue')
    // A menu has the actions of the moment when it was opened.
    await placedAfter(id, 'requeued_by')
    await row.getByText('SCHEDULED').waitFor()

    await pick(page, id, 'Move')
    await page.getByRole('dialog').getByText('no work is lost').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Move session' }).click()
    await placedAfter(id, 'session_moved_by')
    await row.getByText('SCHEDULED').waitFor()

    await pick(page, id, 'Cancel')
    await page.getByRole('dialog').getByRole('button', { name: 'Keep session' }).click()
    await pick(page, id, 'Cancel')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel session' }).click()
    await page.getByText('No sessions match the filter.').waitFor()
    await button(page, /^TERMINATED/).click()
    await row.getByText('admin canceled the session').waitFor()
    expect(page.url()).toContain(`status=TERMINATED&q=${id}`)
    await api().call('patchSettings', { body: { schedule_ahead_minutes: null } })
  })

  it('that wait show the reason and are retried on request', async () => {
    const { id } = await book(HUGE)
    const { page } = await open({ at: `#/sessions?definition=${HUGE}` })
    await rowOf(page, id)
      .getByText(/memory/)
      .waitFor()
    await page
      .getByRole('list', { name: 'Sessions without a worker' })
      .getByRole('link', { name: HUGE })
      .first()
      .focus()
    await page.keyboard.press('Enter')
    await page.locator('.callout.health', { hasText: /memory/ }).waitFor()
    const { version } = await api().call('getSession', { params: { id } })
    await button(page, /^Retry/).click()
    await expect.poll(async () => (await api().call('getSession', { params: { id } })).version).toBeGreaterThan(version)
    await api().call('cancelSession', { params: { id } })
    await page.locator('.session-line').getByText('TERMINATED').waitFor()
  })

  it('are found by filters and times that are in the address', async () => {
    const { page } = await open({ at: `#/sessions?definition=${LAB}` })
    await page.getByRole('button', { name: '7d', exact: true }).click()
    await button(page, 'Mine').click()
    await page.getByLabel('Search sessions').fill(served)
    await rowOf(page, served).waitFor()
    expect(page.url()).toMatch(new RegExp(`#/sessions\\?mine=yes&definition=${LAB}&q=${served}&range=7d$`))
    await page.locator(`.bar[href="#/sessions/${served}"]`).waitFor()
    await page.getByRole('link', { name: 'Later', exact: true }).click()
    await page.locator(`.bar[href="#/sessions/${served}"]`).waitFor({ state: 'detached' })
    expect(page.url()).toMatch(/&at=20\d\d-/)
    await page.reload()
    await rowOf(page, served).waitFor()
    await page.getByRole('link', { name: 'Now', exact: true }).click()
    await page.locator(`.bar[href="#/sessions/${served}"]`).waitFor()
    await page.getByLabel('Search sessions').fill('nothing like it')
    await button(page, 'Clear filters').click()
    await rowOf(page, served).waitFor()
  })

  it('keep every filter that is chosen before the page is drawn again', async () => {
    const { page } = await open({ at: '#/sessions?status=PENDING,RUNNING,READY' })
    await button(page, 'Mine').waitFor()
    await page.evaluate(() => {
      const press = (name: RegExp) =>
        [...document.querySelectorAll('button')].find(each => name.test(each.textContent ?? ''))?.click()
      for (const name of [/^7d/, /^Mine/, /^RUNNING/, /^PENDING/]) press(name)
    })
    expect(page.url()).toMatch(/#\/sessions\?status=READY&mine=yes&range=7d$/)
  })

  it.each(['Extend', 'Cancel'])('that end while a dialog is open disable it: %s', async verb => {
    const { id } = await book(LAB, 30)
    const { page } = await open({ at: `#/sessions?q=${id}` })
    await (verb === 'Cancel' ? pick(page, id, verb) : rowOf(page, id).getByRole('button', { name: verb }).click())
    await page.getByRole('dialog').getByRole('button', { name: verb }).waitFor()
    await api().call('cancelSession', { params: { id } })
    await page.getByRole('dialog').getByText('This session has ended.').waitFor()
  })

  it('that are deleted while their page is open are shown as missing', async () => {
    const { id } = await book(LAB, 30)
    const gate = await eventProxyTo(inject('product').url)
    try {
      const { page } = await open({ at: `#/sessions/${id}`, product: { ...inject('product'), url: gate.url } })
      await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
      const problem = new ProblemError('not_found', `there is no ${id}`).toProblem('/')
      await page.route(`**/api/v1/lablet-sessions/${id}`, route =>
        route.fulfill({ status: problem.status, contentType: PROBLEM_MEDIA_TYPE, json: problem }),
      )
      const at = toInstant(systemClock.now())
      gate.inject({ type: 'session.deleted', id, version: 1_000, at, data: null })
      await page.getByRole('heading', { name: 'Session not found' }).waitFor()
    } finally {
      await gate.close()
      await api().call('cancelSession', { params: { id } })
    }
  })

  it('that cannot be loaded are not reported as missing', async () => {
    const { page } = await open({ at: '#/overview' })
    await page.route('**/api/v1/lablet-sessions/ls-*', route => route.abort())
    await page.goto(`${inject('product').url}/#/sessions/ls-0000000000000`)
    await page.getByRole('heading', { name: 'Could not load this session' }).waitFor()
    await page.unrouteAll()
    await button(page, 'Try again').click()
    await page.getByRole('heading', { name: 'Session not found' }).waitFor()
  })

  it('of other users are neither visible nor changeable', async () => {
    const { page, secret } = await openAsUser(`#/sessions/${served}`)
    await page.getByRole('heading', { name: 'Session not found' }).waitFor()
    await page.getByRole('link', { name: 'All sessions' }).click()
    // The page of who never had a session comes once the past was read; before that it is an empty list.
    await page.getByRole('heading', { name: 'No sessions yet' }).waitFor()
    expect(await rowOf(page, served).count()).toBe(0)
    expect(await button(page, 'Mine').count()).toBe(0)
    const theirs = clientOf({ ...inject('product'), token: secret })
    const { id } = await theirs.call('createSession', {
      body: { definition: HUGE, duration_minutes: 10, best_effort: true },
    })
    await pick(page, id, 'Cancel')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel session' }).click()
    await page.getByText(/^No sessions are booked/).waitFor()
  })
})

describe('a session', () => {
  it('shows its slot, steps, access, history and reason', async () => {
    const { page } = await open({ at: `#/sessions/${served}` })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const steps = page.locator('.step')
    await page.locator('.step.completed[data-step="mark_ready"]').waitFor()
    expect(await steps.count()).toBe(7)
    const doors = page.locator('.access-line')
    expect(await doors.allTextContents()).toEqual([
      expect.stringMatching(/^telnet \S+ \d+$/),
      expect.stringMatching(/^telnet \S+ \d+$/),
      expect.stringMatching(/^ssh \S+ -p \d+$/),
    ])
    await button(page, /^Copy the address of \w+_tcp_22/).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await doors.last().textContent())
    await page.locator('.slot-now').waitFor()
    await page.getByText(/^ends in/).waitFor()
    await page.locator('.session-history').getByText('admin booked the session').waitFor()
    await page.locator('.decision').first().waitFor()
    await page.getByText(HOSTILE).waitFor()
    expect(await page.locator('img[src="x"]').count()).toBe(0)
    await button(page, 'Dismiss').click()
    await page.setViewportSize({ width: 360, height: 780 })
    const linesOfAddresses = doors.evaluateAll(all =>
      all.map(each => {
        const text = document.createRange()
        text.selectNodeContents(each)
        return text.getClientRects().length
      }),
    )
    expect(await linesOfAddresses).toEqual([1, 1, 1])
    for (const [device, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE }))
      for (const theme of ['light', 'dark'] as const) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme: theme })
        await screenshot(page, `session-${device}-${theme}`)
        expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0)
        if ((device === 'phone') === (theme === 'dark')) expect(await seriousViolations(page)).toEqual([])
      }
  })
})

it('a thousand sessions on two hundred workers scroll smoothly', async () => {
  const { page } = await open({ at: '#/overview' })
  await crowd(page)
  await page.goto(`${new URL(page.url()).origin}/#/sessions`)
  await page.reload()
  await expect.poll(() => page.locator('.bar').count()).toBe(1000)
  await screenshot(page, 'sessions-crowd-light')
  const cpuMs = await mainThread(page)
  const beforeMs = await cpuMs()
  await page.evaluate(async frames => {
    const box = document.querySelector('.timeline-box')
    for (let n = 0; n < frames; n++) {
      box?.scrollBy(0, 40)
      await new Promise(requestAnimationFrame)
    }
  }, FRAMES)
  expect(((await cpuMs()) - beforeMs) / FRAMES).toBeLessThan(25)
})

const FRAMES = 60

/** CPU time of the page. Unlike frame times, it doesn't depend on other load of the machine. */
async function mainThread(page: Page): Promise<() => Promise<number>> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
}

/** The lists as if the fleet were that large. */
async function crowd(page: Page): Promise<void> {
  const { items, revision } = await api().call('listWorkers', {})
  const [worker] = items
  const session = await api().call('getSession', { params: { id: served } })
  const workers = Array.from({ length: 200 }, (_, n) => ({ ...worker, id: `w-${n}`, name: `crowd-${n}` }))
  const statuses = ['RUNNING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'STOPPING']
  const sessions = Array.from({ length: 1000 }, (_, n) => {
    const startMs = systemClock.now() + ((n % 19) - 3) * 30 * MINUTE_MS
    const timeslot = { start: toInstant(startMs), end: toInstant(startMs + ((n % 4) + 1) * 30 * MINUTE_MS) }
    return { ...session, id: `ls-${n}`, worker_id: `w-${n % 200}`, status: statuses[n % 5], timeslot }
  })
  const listed = (all: readonly unknown[]) => ({ items: all, next_cursor: null, revision })
  await page.route('**/api/v1/workers?*', route => route.fulfill({ json: listed(workers) }))
  await page.route('**/api/v1/lablet-sessions?*', route =>
    route.fulfill({ json: listed(route.request().url().includes('status=') ? [] : sessions) }),
  )
}
