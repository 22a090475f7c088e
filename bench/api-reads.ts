import { join } from 'node:path'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { type Arrival, atFixedRate } from './api/arrivals.ts'
import { conclude, loadNow, median, medianOf, type Quantiles, quantilesOf, ROUNDS } from './api/figures.ts'
import { workerId } from './api/fleet.ts'
import { writeFleetFile } from './api/fleet-file.ts'
import { openConnection, requestText } from './api/http-connections.ts'
import { type Served, scratchFolder, startApi, startBare } from './api/processes.ts'

/**
 * Figure 3.7: one worker and a page of 100 read over HTTP at a fixed rate of arrival, with 10,000 workers stored. In turns
 * with a bare server that sends as many bytes, since that is what Node and a busy machine take for themselves.
 */
const WORKERS = 10_000
const PAGE = 100
const PER_SECOND = 500
const SECONDS = 7
const WARM_UP_SECONDS = 3
const BAR_P99_MS = 10

const random = seededRandom(11)
const anywhere = (before: number) => workerId(random.int(before))
const oneWorker = () => requestText('GET', `workers/${anywhere(WORKERS)}`)
/** From anywhere in the list, so that no page is read more often than others. */
const onePage = () => requestText('GET', `workers?limit=${PAGE}&cursor=${anywhere(WORKERS - PAGE - 1)}`)

interface Turn {
  readonly name: string
  readonly server: Served
  readonly next: (n: number) => Arrival
}

interface Result {
  readonly name: string
  readonly took: Quantiles
  readonly cpuPercent: number
}

async function run({ name, server, next }: Turn, seconds: number): Promise<Result[]> {
  const before = await server.cpuMs()
  const took = await atFixedRate(server.port, { perSecond: PER_SECOND, seconds, next })
  const cpuPercent = Math.round(((await server.cpuMs()) - before) / (seconds * 10))
  return [...took].map(([kind, times]) => ({ name: `${name}${kind}`, took: quantilesOf(times), cpuPercent }))
}

async function bodyLength(server: Served, request: Buffer, check: (body: string) => boolean): Promise<number> {
  const connection = await openConnection(server.port)
  const { body } = await connection.send(request, true)
  connection.close()
  if (!check(body)) throw new Error(`that is not what was asked for: ${body.slice(0, 200)}`)
  return body.length
}

const folder = scratchFolder()
const file = join(folder, 'lcm.sqlite')
await writeFleetFile(file, { workers: WORKERS })
const [api, bare] = [await startApi(folder, file), await startBare(folder)]
const bytes = {
  one: await bodyLength(api, oneWorker(), body => JSON.parse(body).state_history.length > 0),
  page: await bodyLength(api, onePage(), body => JSON.parse(body).items.length === PAGE),
}
const one = () => ({ kind: 'one worker', request: oneWorker() })
const page = () => ({ kind: 'a page', request: onePage() })
const bareRequests = { one: requestText('GET', `${bytes.one}`), page: requestText('GET', `${bytes.page}`) }
const turns: readonly Turn[] = [
  { name: 'bare: ', server: bare, next: () => ({ kind: 'bytes of a page', request: bareRequests.page }) },
  { name: '', server: api, next: one },
  { name: '', server: api, next: page },
  { name: 'half and half: ', server: api, next: n => (n % 2 === 0 ? one() : page()) },
]
for (const turn of turns) await run(turn, WARM_UP_SECONDS)
const results: Result[] = []
for (let round = 0; round < ROUNDS; round += 1) for (const turn of turns) results.push(...(await run(turn, SECONDS)))
await Promise.all([api.stop(), bare.stop()])

const rows = [...new Set(results.map(({ name }) => name))].map(name => {
  const those = results.filter(result => result.name === name)
  const cpu_percent = median(those.map(({ cpuPercent }) => cpuPercent))
  return { name, ...medianOf(those.map(({ took }) => took)), cpu_percent }
})
console.log(`${PER_SECOND} requests/s, ${WORKERS} workers of ${bytes.one} bytes, a page is ${bytes.page} bytes`)
console.log(`  ${ROUNDS} times ${SECONDS} s each in turns, medians; ${loadNow()}`)
for (const { name, p50, p99, max, cpu_percent } of rows) {
  const bar = name.startsWith('bare') ? '' : `   (bar p99 <= ${BAR_P99_MS} ms)`
  console.log(`  ${name.padEnd(26)} p50 ${p50} ms   p99 ${p99} ms   max ${max} ms   ${cpu_percent} % of a core${bar}`)
}
const met = rows.every(({ name, p99 }) => name.startsWith('bare') || p99 <= BAR_P99_MS)
conclude('api-reads', { workers: WORKERS, per_second: PER_SECOND, bytes, rows }, met)
