import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { afterEach, expect, inject } from 'vitest'

export const DESKTOP = { width: 1440, height: 900 }
export const PHONE = { width: 390, height: 844 }
/** Widths at which tables must show all buttons. */
export const WIDTHS = [1024, 1081, 1181, 1280, 1360, 1440] as const

/** Timeout of locators. */
const ELEMENT_TIMEOUT_MS = 45_000

export type Role = 'admin' | 'operator' | 'author' | 'user'
export interface Endpoint {
  readonly url: string
  readonly token: string
}

export interface OpenPage {
  readonly page: Page
  /** Errors that the browser reported: blocked scripts, exceptions, failed assertions. */
  readonly errors: readonly string[]
}

export interface OpenOptions {
  /** Address within the console: `#/workers`. */
  readonly at?: string
  readonly role?: Role
  readonly viewport?: { readonly width: number; readonly height: number }
  readonly theme?: 'light' | 'dark'
  /** A product other than the shared one. */
  readonly product?: Endpoint
  /** For tests that change cookies, the clock or init scripts. */
  readonly isFresh?: boolean
}

/** A page lent to one test. */
interface BorrowedPage extends OpenPage {
  release(): Promise<void>
}

/** Provides signed-in pages and the API to a test file. A test fails if the browser reported an error. */
export function browserTests() {
  const opened: BorrowedPage[] = []
  afterEach(async ({ task }) => {
    const failed = task.result?.state === 'fail' ? opened : []
    const shown = await Promise.all(failed.map(({ page }) => visibleText(page)))
    const complaints = opened.flatMap(each => each.errors)
    await Promise.all(opened.splice(0).map(each => each.release()))
    expect({ complaints, shown }).toEqual({ complaints: [], shown: [] })
  })
  return {
    api: (): Client => clientOf(inject('product')),
    async open(options: OpenOptions = {}): Promise<OpenPage> {
      const lent = await openPage(options)
      opened.push(lent)
      return lent
    },
  }
}

export const clientOf = ({ url, token }: Endpoint): Client =>
  apiClient(httpTransport({ baseUrl: url, clock: systemClock }), { token })

/** Visible text when a test failed: a locator timeout doesn't show the actual content. */
async function visibleText(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog')
  const part = (await dialog.count()) > 0 ? dialog.first() : page.locator('body')
  const text = await part.innerText().catch(error => `nothing: ${error}`)
  return `${page.url()} showed:\n${text.slice(0, 2000)}`
}

/** Without windows it takes half the time. */
const FIND_CHROMIUM = 'command -v chromium-headless-shell || command -v chromium'

let launched: Promise<Browser> | undefined
/** One browser for all files of the process. It ends with the process. */
function theBrowser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: execFileSync('sh', ['-c', FIND_CHROMIUM], { encoding: 'utf8' }).trim(),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  return launched
}

/** Blank, signed-in pages for reuse: opening a new page costs more than most tests. */
const idlePages: Readonly<Record<Role, Page[]>> = { admin: [], operator: [], author: [], user: [] }

async function openPage(options: OpenOptions): Promise<BorrowedPage> {
  const { at = '', role = 'admin', viewport = DESKTOP, theme = 'light', product = inject('product') } = options
  const isShared = options.product === undefined && options.isFresh !== true
  const rested = isShared ? idlePages[role].pop() : undefined
  const page = rested ?? (await freshPage(role === 'admin' ? product : await endpointFor(product, role)))
  const complaints = collectErrors(page)
  await page.setViewportSize(viewport)
  await page.emulateMedia({ colorScheme: theme })
  await visit(page, `${product.url}/${at}`)
  return { page, errors: complaints, release: () => (isShared ? reset(page, role) : page.context().close()) }
}

async function freshPage(place: Endpoint): Promise<Page> {
  const browser = await theBrowser()
  const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-US' })
  context.setDefaultTimeout(ELEMENT_TIMEOUT_MS)
  await context.addCookies(await signedIn(browser, place))
  return context.newPage()
}

/** Page events that tests listen to. */
const LISTENED_EVENTS = ['pageerror', 'console', 'request', 'response', 'dialog']

function collectErrors(page: Page): readonly string[] {
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(`error: ${error.message}`))
  page.on('console', message => {
    // Browsers log failed requests themselves.
    const isExpected = /Failed to load resource|net::ERR_/.test(message.text())
    if (message.type() === 'error' && !isExpected) complaints.push(`console: ${message.text()}`)
  })
  return complaints
}

/** Resets a page and keeps it for the next test. */
async function reset(page: Page, role: Role): Promise<void> {
  for (const event of LISTENED_EVENTS) page.removeAllListeners(event)
  try {
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await showNothing(page)
    await page.evaluate(() => localStorage.clear())
    await page.context().clearPermissions()
    idlePages[role].push(page)
  } catch {
    // A page that can't be reset, as with an open alert, is closed.
    await page.context().close()
  }
}

/** Reloads the console, because a new hash alone keeps the old page for a moment, and waits until it has loaded. */
export async function visit(page: Page, url: string): Promise<void> {
  if (page.url() !== 'about:blank') await showNothing(page)
  await page.goto(url)
  await page.locator('main:not(:has([aria-busy=true])) h1').first().waitFor()
}

/** A file of the same origin: another origin would start a new browser process. */
const showNothing = (page: Page) => page.goto(new URL('/favicon.svg', page.url()).href)

type Cookies = Parameters<BrowserContext['addCookies']>[0]
const cookies = new Map<string, Promise<Cookies>>()

/** Signs in once per token and reuses the cookies. */
function signedIn(browser: Browser, place: Endpoint): Promise<Cookies> {
  const key = `${place.url} ${place.token}`
  const known = cookies.get(key) ?? signIn(browser, place)
  cookies.set(key, known)
  return known
}

async function signIn(browser: Browser, place: Endpoint): Promise<Cookies> {
  const context = await browser.newContext()
  await logIn(context, place)
  const got = await context.cookies()
  await context.close()
  return got
}

/** Signs in all pages of the context with a token, as the sign-in page does. */
export async function logIn(context: BrowserContext, { url, token }: Endpoint): Promise<void> {
  const answer = await context.request.post(`${url}/login`, { data: { token }, headers: { origin: url } })
  if (!answer.ok()) throw new Error(`the sign-in was refused: ${answer.status()}`)
}

const endpoints = new Map<string, Promise<Endpoint>>()

/** The product with a token of this role. */
function endpointFor(product: Endpoint, role: Role): Promise<Endpoint> {
  const key = `${product.url} ${role}`
  const body = { name: `${role}-${systemClock.now()}`, role }
  const make = async () => ({ url: product.url, token: (await clientOf(product).call('createToken', { body })).secret })
  const known = endpoints.get(key) ?? make()
  endpoints.set(key, known)
  return known
}

/** Serious and critical findings of axe on the page. */
export async function seriousViolations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ['violations'] }))
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 160)).join(' | ')}`)
}

declare global {
  interface Window {
    axe: typeof axe
  }
}

/** Width of the content beyond the right edge of a box. */
export const hiddenPx = (box: Locator): Promise<number> =>
  box.evaluate(element => element.scrollWidth - element.clientWidth)

/** How much of its height a text does not show. */
export const hiddenLinesPx = (text: Locator): Promise<number> =>
  text.evaluate(element => element.scrollHeight - element.clientHeight)

const SCREENSHOTS = '.cache/screenshots'

/** Takes a screenshot if the folder exists. */
export async function screenshot(page: Page, name: string, { fullPage = false } = {}): Promise<void> {
  const path = `${SCREENSHOTS}/${name}.png`
  if (existsSync(SCREENSHOTS)) await page.screenshot({ path, fullPage, animations: 'disabled' })
}
