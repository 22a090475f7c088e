import { readFileSync } from 'node:fs'
import { systemClock } from '@lcm/runtime/clock'
import type { Browser } from 'playwright-core'
import type { Tab } from './tab.ts'

/** Poll interval of the memory. */
const POLL_MS = 250

export interface Visit {
  /** Time between frames in ms, as users see it; a busy machine makes it longer. */
  readonly times: readonly number[]
  /** Average time of a frame on the main thread in ms, independent of other load. */
  readonly cpuMs: number
  /** Peak memory of the tab. */
  readonly tabMb: number
}

/** Frames and memory during an action. */
export async function visit(browser: Browser, tab: Tab, work: () => Promise<unknown>): Promise<Visit> {
  await tab.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busyMs = async () => (await metricOf(tab, 'TaskDuration')) * 1000
  const before = await busyMs()
  const memory = await watchedMemory(browser)
  await tab.evaluate('window.frameStarts = []')
  await work()
  const starts = await tab.evaluate<number[]>('window.frameStarts')
  const cpuMs = ((await busyMs()) - before) / starts.length
  const times = starts.slice(1).map((start, index) => start - (starts[index] ?? start))
  return { times, cpuMs, tabMb: await memory.most() }
}

async function metricOf(tab: Tab, wanted: string): Promise<number> {
  const { metrics } = await tab.send<{ metrics: { name: string; value: number }[] }>('Performance.getMetrics')
  return metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN
}

export const heapMb = async (tab: Tab): Promise<number> => Math.round((await metricOf(tab, 'JSHeapUsedSize')) / 2 ** 20)

/** Polls the memory and returns the maximum. There is one tab at a time; other renderers of the browser are small. */
async function watchedMemory(browser: Browser): Promise<{ most(): Promise<number> }> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const pids = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id)
  const end = new AbortController()
  let most = 0
  const measure = () => {
    most = Math.max(most, ...pids.map(footprintMb))
  }
  const polling = (async () => {
    while (!end.signal.aborted) {
      measure()
      await systemClock.sleep(POLL_MS, end.signal)
    }
  })()
  return {
    async most() {
      measure()
      end.abort()
      await polling
      return most
    },
  }
}

/** Memory as the browser's task manager shows it: private memory of the process, without code and shared pages. */
function footprintMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
  return Math.round((kb('RssAnon') + kb('VmSwap')) / 1024)
}

/** Time from navigation to the first contentful paint. */
export const firstPaintMs = (tab: Tab): Promise<number> =>
  tab.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)
export const sinceNavigationMs = (tab: Tab): Promise<number> => tab.evaluate('performance.now()')
