import { existsSync } from 'node:fs'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import axe from 'axe-core'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'

export const DESKTOP = { width: 1440, height: 900 }
export const PHONE = { width: 390, height: 844 }
/** Where tables have to show all of their buttons. */
export const WIDTHS = [1024, 1081, 1181, 1280, 1360, 1440] as const

export type Role = 'admin' | 'operator' | 'author' | 'user'
export interface Place {
  readonly url: string
  readonly token: string
}

export interface Opened {
  readonly page: Page
  /** What the browser complained about: refused scripts, errors, failed assertions. */
  readonly complaints: readonly string[]
}

export interface OpenOptions {
  /** Where on the console: `#/workers`. */
  readonly at?: string
  readonly role?: Role
  readonly viewport?: { readonly width: number; readonly height: number }
  readonly theme?: 'light' | 'dark'
  /** Another product than the one that all files share. */
  readonly product?: Place
}

/** For a file of tests: a browser, pages that are signed in, and the API beside it. No test may leave a complaint. */
export function browserTests() {
  let browser: Browser
  const opened: Opened[] = []
  beforeAll(async () => {
    browser = await chromium.connect(inject('browser'))
  })
  afterEach(async () => {
    const complaints = opened.flatMap(each => each.complaints)
    await Promise.all(opened.splice(0).map(({ page }) => page.context().close()))
    expect(complaints).toEqual([])
  })
  afterAll(() => browser.close())
  return {
    api: (): Client => clientOf(inject('product')),
    async open(options: OpenOptions = {}): Promise<Opened> {
      const shown = await openPage(browser, options)
      opened.push(shown)
      return shown
    },
  }
}

export const clientOf = ({ url, token }: Place): Client =>
  apiClient(httpTransport({ baseUrl: url, clock: systemClock }), { token })

async function openPage(browser: Browser, options: OpenOptions): Promise<Opened> {
  const { at = '', role = 'admin', viewport = DESKTOP, theme = 'light', product = inject('product') } = options
  const settings: BrowserContextOptions = { viewport, colorScheme: theme, reducedMotion: 'reduce', locale: 'en-US' }
  const context = await browser.newContext(settings)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(`error: ${error.message}`))
  page.on('console', message => {
    // A server that is down, or says no, is logged by the browser itself.
    const isExpected = /Failed to load resource|net::ERR_/.test(message.text())
    if (message.type() === 'error' && !isExpected) complaints.push(`console: ${message.text()}`)
  })
  await context.addCookies(await signedIn(browser, role === 'admin' ? product : await placeFor(product, role)))
  await visit(page, `${product.url}/${at}`)
  return { page, complaints }
}

/** Loads the console anew, for another address alone keeps the old page for a moment, and waits until it shows no bones. */
export async function visit(page: Page, url: string): Promise<void> {
  await page.goto('about:blank')
  await page.goto(url)
  await page.locator('main:not(:has([aria-busy=true])) h1').first().waitFor()
}

type Cookies = Parameters<BrowserContext['addCookies']>[0]
const cookies = new Map<string, Promise<Cookies>>()

/** Signs in once for each token: whoever comes again has the cookie still. */
function signedIn(browser: Browser, place: Place): Promise<Cookies> {
  const key = `${place.url} ${place.token}`
  const known = cookies.get(key) ?? signIn(browser, place)
  cookies.set(key, known)
  return known
}

async function signIn(browser: Browser, place: Place): Promise<Cookies> {
  const context = await browser.newContext()
  await logIn(context, place)
  const got = await context.cookies()
  await context.close()
  return got
}

/** By a link, as people do. Every page of the context is signed in by it. */
export async function logIn(context: BrowserContext, place: Place): Promise<void> {
  const { url } = await clientOf(place).call('createLoginLink', {})
  const page = await context.newPage()
  await page.goto(new URL(url, place.url).href)
  await page.close()
}

const places = new Map<string, Promise<Place>>()

/** The product as somebody of this role comes to it. */
function placeFor(product: Place, role: Role): Promise<Place> {
  const key = `${product.url} ${role}`
  const body = { name: `${role}-${systemClock.now()}`, role }
  const make = async () => ({ url: product.url, token: (await clientOf(product).call('createToken', { body })).secret })
  const known = places.get(key) ?? make()
  places.set(key, known)
  return known
}

/** What axe finds serious or worse on the page as it is. */
export async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() => window.axe.run())
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 160)).join(' | ')}`)
}

declare global {
  interface Window {
    axe: typeof axe
  }
}

/** How much of what is in a box lies beyond its right edge. */
export const hiddenPx = (box: Locator): Promise<number> =>
  box.evaluate(element => element.scrollWidth - element.clientWidth)

const SCREENSHOTS = '.cache/screenshots'

/** For those who look at them: nobody does where that folder is missing. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (existsSync(SCREENSHOTS)) await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, animations: 'disabled' })
}
