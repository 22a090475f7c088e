import { join } from 'node:path'
import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { workerId } from '../../api/fleet-documents.ts'
import { openConnection, requestText } from '../../api/http-connections.ts'
import { scratchFolder, startApi } from '../../api/server-processes.ts'
import { writeFleetFile } from '../../api/write-fleet-store.ts'
import { cdfChart } from '../../report/cdf-chart.ts'
import { conclude, p99AtMost, ROUNDS, shown } from '../../report/figure-report.ts'
import { medianOf, quantilesOf } from '../../report/quantiles.ts'

/** Figure 3.6: reads the decisions of one worker over HTTP, among a million. */
const WORKERS = 10_000
const DECISIONS = 1_000_000
const OF_THE_FIRST = 100_000
const AUDIT_OF_THE_SECOND = 100_000
const TIMES = 300
const BAR_P99_MS = 50

const folder = scratchFolder()
const file = join(folder, 'lcm.sqlite')
const startMs = systemClock.monotonic()
await writeFleetFile(file, {
  workers: WORKERS,
  decisions: DECISIONS,
  ofTheFirst: OF_THE_FIRST,
  auditOfTheSecond: AUDIT_OF_THE_SECOND,
})
const preparedSeconds = Math.round((systemClock.monotonic() - startMs) / 1000)
const api = await startApi(folder, file)
const connection = await openConnection(api.port)
const random = seededRandom(5)
const daysAgo = (days: number) => toInstant(systemClock.now() - days * 86_400_000)

async function page(id: string, more = ''): Promise<{ items: unknown[]; next_cursor: string | null }> {
  const { status, body } = await connection.send(requestText('GET', `workers/${id}/decisions?${more}`), true)
  if (status !== 200) throw new Error(`it was answered with ${status}: ${body}`)
  return JSON.parse(body)
}

/** Reads all pages of the busiest worker. */
function walk() {
  let cursor: string | null = null
  return async () => {
    const found = await page(workerId(0), `limit=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)
    cursor = found.next_cursor
    return found
  }
}

const walked = walk()
const QUESTIONS: Readonly<Record<string, () => Promise<{ items: unknown[] }>>> = {
  'any worker, newest 50': () => page(workerId(random.int(WORKERS)), 'limit=50'),
  'a worker with 100,000, newest 50': () => page(workerId(0), 'limit=50'),
  'that worker, page after page of 100': walked,
  'that worker, some day of the past': () => {
    const day = 1 + random.int(18)
    return page(workerId(0), `limit=50&from=${daysAgo(day + 1)}&to=${daysAgo(day)}`)
  },
  'a worker with 100,000 other entries': () => page(workerId(1), 'limit=50'),
}

async function timesOf(ask: () => Promise<{ items: unknown[] }>): Promise<readonly number[]> {
  const times: number[] = []
  for (let n = 0; n < TIMES; n += 1) {
    const sentMs = systemClock.monotonic()
    const { items } = await ask()
    times.push(systemClock.monotonic() - sentMs)
    if (items.length === 0) throw new Error('there are decisions, but none was answered')
  }
  return times
}

const rounds: { name: string; times: readonly number[] }[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, ask] of Object.entries(QUESTIONS)) rounds.push({ name, times: await timesOf(ask) })
}
connection.close()
await api.stop()

const timesBy = (name: string) => rounds.filter(each => each.name === name).map(({ times }) => times)
const names = Object.keys(QUESTIONS)
const series = Object.fromEntries(names.map(name => [name, timesBy(name).flat()]))
const all = shown(DECISIONS + OF_THE_FIRST)
conclude({
  bench: 'api-why',
  figures: names.map(name =>
    p99AtMost(`decisions of ${name}, among ${all}`, BAR_P99_MS, medianOf(timesBy(name).map(quantilesOf))),
  ),
  charts: [cdfChart('api-why', `Decisions of one worker among ${all}, over HTTP`, series, BAR_P99_MS)],
  details: { preparedSeconds },
})
