import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { TOKEN } from '../api/processes.ts'

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim(),
    args: ['--no-sandbox'],
  })

/** Notes when each frame begins. `performance.now` is the page's, so nothing of the bench is in it. */
const FRAMES = `
  window.frameStarts = []
  const note = now => { window.frameStarts.push(now); requestAnimationFrame(note) }
  requestAnimationFrame(note)
`

/** A tab of a browser that was never here before. */
export async function newTab(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' })
  await context.setExtraHTTPHeaders({ authorization: `Bearer ${TOKEN}` })
  const page = await context.newPage()
  await page.addInitScript(FRAMES)
  return page
}

export interface Frames {
  /** From one frame to the next, in ms: what people see, and what a busy machine makes longer. */
  readonly times: readonly number[]
  /** What a frame takes of the tab's main thread on average, in ms, whatever else the machine does. */
  readonly cpuMs: number
}

/** The frames while something was done. */
export async function framesDuring(page: Page, work: () => Promise<unknown>): Promise<Frames> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busyMs = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000
  }
  const before = await busyMs()
  await page.evaluate('window.frameStarts = []')
  await work()
  const starts: number[] = await page.evaluate('window.frameStarts')
  const cpuMs = ((await busyMs()) - before) / starts.length
  await session.detach()
  return { times: starts.slice(1).map((start, index) => start - (starts[index] ?? start)), cpuMs }
}

/** One step of so many pixels each frame, down and up again. */
export const scroll = (page: Page, seconds: number, pixels: number): Promise<unknown> =>
  page.evaluate(`new Promise(done => {
    const end = performance.now() + ${seconds * 1000}
    let turn = 1
    const step = now => {
      window.scrollBy(0, turn * ${pixels})
      const isAtEnd = window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - 1
      if (isAtEnd) turn = -1
      if (window.scrollY <= 0) turn = 1
      if (now < end) requestAnimationFrame(step)
      else done()
    }
    requestAnimationFrame(step)
  })`)

/** When the first content was painted, counted from the navigation. */
export const firstPaintMs = (page: Page): Promise<number> =>
  page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)
export const sinceNavigationMs = (page: Page): Promise<number> => page.evaluate('performance.now()')

export interface TabMemory {
  /** What the tab's process holds for itself alone: what the browser's task manager shows. */
  readonly tabMb: number
  readonly heapMb: number
}

export async function memoryOfTab(browser: Browser, page: Page): Promise<TabMemory> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  const own = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => anonymousMb(id))
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable')
  const { metrics } = await cdp.send('Performance.getMetrics')
  await cdp.detach()
  const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN
  return { tabMb: Math.max(...own), heapMb: Math.round(heap / 2 ** 20) }
}

function anonymousMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
  return Math.round((kb('RssAnon') + kb('VmSwap')) / 1024)
}
