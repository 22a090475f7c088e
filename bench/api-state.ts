import { join } from 'node:path'
import { systemClock } from '@lcm/runtime/clock'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { conclude, loadNow, median, quantilesOf, ROUNDS } from './api/figures.ts'
import { workerId } from './api/fleet.ts'
import { writeFleetFile } from './api/fleet-file.ts'
import { openConnection, requestText } from './api/http-connections.ts'
import { memoryOf, scratchFolder, startApi } from './api/processes.ts'

/** Figures 3.6 and 3.7: the control plane with 10,000 workers and 1,000,000 decisions: its start, its memory, and `why`. */
const WORKERS = 10_000
const DECISIONS = 900_000
const OF_ONE = 100_000
const READS = 1_000
const BARS = { startMs: 2_000, rssMb: 300, whyP99Ms: 50 }

const random = seededRandom(13)
const folder = scratchFolder()
const file = join(folder, 'lcm.sqlite')
await writeFleetFile(file, { workers: WORKERS, decisions: DECISIONS, ofTheFirst: OF_ONE })

interface Look {
  readonly startMs: number
  readonly why: number[]
  readonly whyOfOne: number[]
  readonly rssMb: number
  readonly peakMb: number
}

async function look(): Promise<Look> {
  const startedAt = systemClock.monotonic()
  const api = await startApi(folder, file)
  const connection = await openConnection(api.port)
  const timed = async (path: string): Promise<number> => {
    const sentAt = systemClock.monotonic()
    const { status } = await connection.send(requestText('GET', path))
    if (status !== 200) throw new Error(`${path} was answered with ${status}`)
    return systemClock.monotonic() - sentAt
  }
  await timed('info')
  const startMs = systemClock.monotonic() - startedAt
  const why: number[] = []
  const whyOfOne: number[] = []
  for (let n = 0; n < READS; n += 1) {
    await timed(`workers?limit=100&cursor=${workerId(random.int(WORKERS - 101))}`)
    why.push(await timed(`workers/${workerId(1 + random.int(WORKERS - 1))}/decisions`))
    whyOfOne.push(await timed(`workers/${workerId(0)}/decisions`))
  }
  const memory = memoryOf(api.pid)
  connection.close()
  await api.stop()
  return { startMs, why, whyOfOne, ...memory }
}

const looks: Look[] = []
for (let round = 0; round < ROUNDS; round += 1) looks.push(await look())
const start_ms = Math.round(median(looks.map(each => each.startMs)))
const rss_mb = median(looks.map(each => each.rssMb))
const peak_mb = median(looks.map(each => each.peakMb))
const why = quantilesOf(looks.flatMap(each => each.why))
const why_of_one = quantilesOf(looks.flatMap(each => each.whyOfOne))
console.log(`${WORKERS} workers, ${DECISIONS + OF_ONE} decisions; ${ROUNDS} starts; ${loadNow()}`)
console.log(`  start, with bundling of the process, until an answer   ${start_ms} ms   (bar ${BARS.startMs} ms)`)
console.log(
  `  memory after ${READS} pages and ${2 * READS} whys   ${rss_mb} MB, at most ${peak_mb} MB   (bar ${BARS.rssMb} MB)`,
)
console.log(`  why, a page of 100 decisions   p50 ${why.p50} ms   p99 ${why.p99} ms   (bar p99 < ${BARS.whyP99Ms} ms)`)
console.log(`  the same, of a worker with ${OF_ONE}   p50 ${why_of_one.p50} ms   p99 ${why_of_one.p99} ms`)
const met =
  start_ms <= BARS.startMs && peak_mb <= BARS.rssMb && why.p99 < BARS.whyP99Ms && why_of_one.p99 < BARS.whyP99Ms
conclude('api-state', { start_ms, rss_mb, peak_mb, why, why_of_one }, met)
