import { readFileSync } from 'node:fs'
import { systemClock } from '@lcm/runtime/clock'
import type { Browser } from 'playwright-core'
import type { Tab } from './tab.ts'

/** How often memory is looked at while something is done. */
const LOOK_MS = 250

export interface Visit {
  /** From one frame to the next, in ms: what people see, and what a busy machine makes longer. */
  readonly times: readonly number[]
  /** What a frame takes of the tab's main thread on average, in ms, whatever else the machine does. */
  readonly cpuMs: number
  /** The most that the tab held meanwhile. */
  readonly tabMb: number
}

/** The frames and the memory while something was done. */
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

/** Looks until asked for the most that was seen. There is one tab at a time; the browser's other renderers are small. */
async function watchedMemory(browser: Browser): Promise<{ most(): Promise<number> }> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const pids = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id)
  const end = new AbortController()
  let most = 0
  const look = () => {
    most = Math.max(most, ...pids.map(footprintMb))
  }
  const looking = (async () => {
    while (!end.signal.aborted) {
      look()
      await systemClock.sleep(LOOK_MS, end.signal)
    }
  })()
  return {
    async most() {
      look()
      end.abort()
      await looking
      return most
    },
  }
}

/** What the browser's own task manager shows: all that is the process's alone, so neither the program nor what is shared. */
function footprintMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
  return Math.round((kb('RssAnon') + kb('VmSwap')) / 1024)
}

/** When the first content was painted, counted from the navigation. */
export const firstPaintMs = (tab: Tab): Promise<number> =>
  tab.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)
export const sinceNavigationMs = (tab: Tab): Promise<number> => tab.evaluate('performance.now()')
