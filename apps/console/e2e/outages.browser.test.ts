import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import type { Page } from 'playwright-core'
import { describe, expect, inject, it } from 'vitest'
import { browserTests, clientOf, logIn, screenshot, seriousViolations } from './testing/browser-harness.ts'
import { eventProxyTo } from './testing/event-proxy.ts'
import { type Product, startProduct } from './testing/start-product.ts'

const { open, api } = browserTests()
const HOUR_MS = 3_600_000

const badge = (page: Page, label: string) => page.getByRole('status').getByText(label, { exact: true })
const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

const minuteText = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const shortTime = (ms: number) => minuteText.format(ms)

/** State that a reload would lose. */
const mark = (page: Page) => page.evaluate(() => Object.assign(window, { isSamePage: true }))
const isMarked = (page: Page) => page.evaluate(() => 'isSamePage' in window)

declare global {
  interface Window {
    namesSeen: string[]
  }
}

/** Every name that the worker on the page had there since, in order. */
async function watchNames(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const seen: string[] = []
    const record = () => {
      const text = document.querySelector('main h1')?.textContent ?? ''
      if (text.startsWith('renamed') && seen.at(-1) !== text) seen.push(text)
    }
    new MutationObserver(record).observe(document.body, { subtree: true, childList: true, characterData: true })
    window.namesSeen = seen
  })
  return () => page.evaluate(() => window.namesSeen)
}

async function withOwnProduct(test: (product: Product, restart: () => Promise<Product>) => Promise<void>) {
  const data = mkdtempSync(join(tmpdir(), 'lcm-outage-'))
  const first = await startProduct({ data })
  let second: Product | null = null
  try {
    await test(first, async () => {
      second = await startProduct({ data, port: new URL(first.url).port })
      return second
    })
  } finally {
    for (const product of [first, second]) await product?.stop()
    rmSync(data, { recursive: true, force: true })
  }
}

const SIGN_IN = 'Sign in to see the fleet'

describe('an API that is killed', () => {
  it('is shown; data stays visible and is updated after the reconnect', async () => {
    await withOwnProduct(async (product, restart) => {
      const { items } = await clientOf(product).call('listWorkers', {})
      const { id = '', name = '' } = items[0] ?? {}
      const { page } = await open({ at: `#/workers/${id}`, product })
      await badge(page, 'Live').waitFor()
      await mark(page)
      process.kill(product.pid, 'SIGKILL')
      await badge(page, 'Reconnecting…').waitFor()
      await page.getByText(/^Connection lost: .+ Data is from \d/).waitFor()
      await page.getByRole('heading', { level: 1, name }).waitFor()
      expect(await seriousViolations(page)).toEqual([])
      await screenshot(page, 'outage-killed-light')
      await page.getByRole('link', { name: 'Overview', exact: true }).click()
      await page.getByRole('region', { name: 'Fleet' }).waitFor()
      await page.goBack()
      const names = await watchNames(page)
      const again = clientOf(await restart())
      for (const renamed of ['renamed-1', 'renamed-2', 'renamed-3'])
        await again.call('patchWorker', { params: { id }, body: { name: renamed } })
      await page.getByRole('heading', { level: 1, name: 'renamed-3' }).waitFor()
      await badge(page, 'Live').waitFor()
      expect(await names()).toEqual([...(await names())].sort())
      expect(await page.getByText('Connection lost').count()).toBe(0)
      expect(await isMarked(page)).toBe(true)
      expect(await page.title()).toBe('renamed-3 · LCM')
    })
  })
})

describe('events that do not come through', () => {
  it('are replaced by polling, and resumed when the stream is back', async () => {
    const gate = await eventProxyTo(inject('product').url)
    try {
      const product = { ...inject('product'), url: gate.url }
      const { page } = await open({ at: '#/workers?q=outage-', product })
      await badge(page, 'Live').waitFor()
      await mark(page)
      gate.cutEvents()
      await badge(page, 'Reconnecting…').waitFor()
      await expect
        .poll(async () => {
          await page.getByRole('button', { name: 'Retry now' }).click()
          return badge(page, 'Polling').isVisible()
        })
        .toBe(true)
      await page.getByText(/^Live updates are unavailable \(.+\)\. Lists are reloaded with each retry\./).waitFor()
      const { id } = await api().call('createWorker', { body: { template_name: 'nested', name: 'outage-polled' } })
      await page.getByRole('button', { name: 'Retry now' }).click()
      await rowOf(page, 'outage-polled').waitFor()
      await screenshot(page, 'outage-polling-light')
      gate.openEvents()
      const live = badge(page, 'Live').waitFor()
      // A retry of the page itself may come first and remove the button.
      await Promise.any([page.getByRole('button', { name: 'Retry now' }).click(), live])
      await live
      await api().call('terminateWorker', { params: { id }, body: {} })
      await rowOf(page, 'outage-polled').waitFor({ state: 'detached' })
      expect(await isMarked(page)).toBe(true)
    } finally {
      await gate.close()
    }
  })
})

describe('a login', () => {
  const operator = async (more: { expires_at?: string } = {}) => {
    const made = await api().call('createToken', { body: { name: 'outage-operator', role: 'operator', ...more } })
    return { ...made, place: { url: inject('product').url, token: made.secret } }
  }

  const opened = async ({ place }: Awaited<ReturnType<typeof operator>>) => {
    const { page } = await open({ at: '#/workers', product: place })
    await rowOf(page, 'metal-1').waitFor()
    await mark(page)
    return page
  }

  /** A slow machine may be too late to see anything before it is over. */
  const openedInTime = async ({ place }: Awaited<ReturnType<typeof operator>>) => {
    const { page } = await open({ at: '#/workers', product: place })
    await rowOf(page, 'metal-1')
      .or(page.getByRole('heading', { name: SIGN_IN }))
      .waitFor()
    return page
  }

  it('ends with a revoked or expired token; the page continues after the next login', async () => {
    const token = await operator()
    const expires_at = toInstant(systemClock.now() + 8_000)
    const [page, over] = await Promise.all([opened(token), operator({ expires_at }).then(openedInTime)])
    await api().call('deleteToken', { params: { id: token.id } })
    for (const each of [page, over]) {
      await each.getByRole('heading', { name: SIGN_IN }).waitFor()
      await badge(each, 'Signed out').waitFor()
    }
    expect(await page.getByRole('button', { name: 'Log out' }).count()).toBe(0)
    expect(await page.getByRole('navigation', { name: 'Pages' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Sign in with your account' }).count()).toBe(0)
    await screenshot(page, 'signed-out-light')
    expect(await seriousViolations(page)).toEqual([])
    await logIn(page.context(), inject('product'))
    await page.evaluate(() => window.dispatchEvent(new Event('focus')))
    await rowOf(page, 'metal-1').waitFor()
    await badge(page, 'Live').waitFor()
    expect(await isMarked(page)).toBe(true)
  })
})

describe('where an identity provider is set up', () => {
  it('offers to sign in with it', async () => {
    const { page } = await open({ at: '#/workers' })
    await page.route('**/api/v1/info', route => {
      const problem = new ProblemError('unauthenticated', 'sign in', undefined, {
        signIn: '/login/provider',
      }).toProblem('/')
      return route.fulfill({ status: 401, contentType: PROBLEM_MEDIA_TYPE, json: problem })
    })
    await page.reload()
    const link = page.getByRole('link', { name: 'Sign in with your account' })
    await link.waitFor()
    expect(await link.getAttribute('href')).toBe('/login/provider')
    expect(await seriousViolations(page)).toEqual([])
  })
})

describe('a browser whose clock is two hours fast', () => {
  it('shows true ages and countdowns', async () => {
    const gate = await eventProxyTo(inject('product').url)
    try {
      const product = { ...inject('product'), url: gate.url }
      const { page } = await open({ at: '#/settings', product })
      const body = { template_name: 'nested', name: 'outage-clock' }
      const { id } = await api().call('createWorker', { body })
      await page.clock.install({ time: systemClock.now() + 2 * HOUR_MS })
      await page.goto(`${product.url}/#/workers/${id}`)
      await page.reload()
      await badge(page, 'Live').waitFor()
      const offMs = (await page.evaluate<number>('+new Date')) - systemClock.now()
      expect(Math.round(offMs / HOUR_MS)).toBe(2)
      const ages = page.locator('main time')
      await ages
        .filter({ hasText: /^([1-9]\d*s|1m \d+s)$/ })
        .first()
        .waitFor()
      expect((await ages.allTextContents()).filter(text => /\dh/.test(text))).toEqual([])
      gate.cutEvents()
      await page.getByText(/Next retry in \ds\./).waitFor()
      const banner = (await page.getByText(/Data is from/).textContent()) ?? ''
      const possible = [0, 60_000].map(ms => shortTime(systemClock.now() - ms))
      expect(possible.filter(text => banner.includes(text))).not.toEqual([])
      gate.openEvents()
      await badge(page, 'Live').waitFor()
      await api().call('terminateWorker', { params: { id }, body: {} })
    } finally {
      await gate.close()
    }
  })
})

describe('a slow API', () => {
  it('shows a loading page, then the page', async () => {
    const { page } = await open({ at: '#/settings' })
    let release: () => void = () => undefined
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    await page.route('**/api/v1/**', async route => {
      await held
      await route.continue()
    })
    await page.goto(`${inject('product').url}/#/workers`)
    await page.reload()
    await page.locator('main [aria-busy=true]').waitFor()
    await page.getByRole('heading', { name: 'Loading the fleet…' }).waitFor()
    await badge(page, 'Connecting…').waitFor()
    await screenshot(page, 'outage-slow-light')
    expect(await seriousViolations(page)).toEqual([])
    release()
    await rowOf(page, 'metal-1').waitFor()
    await badge(page, 'Live').waitFor()
  })
})
