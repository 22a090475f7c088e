import { join } from 'node:path'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { type Arrival, atFixedRate } from '../../api/fixed-rate-load.ts'
import { workerId } from '../../api/fleet-documents.ts'
import { openConnection, requestText } from '../../api/http-connections.ts'
import { type Served, scratchFolder, startApi, startBare } from '../../api/server-processes.ts'
import { writeFleetFile } from '../../api/write-fleet-store.ts'
import { cdfChart } from '../../report/cdf-chart.ts'
import { conclude, measured, p99AtMost, ROUNDS, shown, wordsOf } from '../../report/figure-report.ts'
import { median, medianOf, quantilesOf } from '../../report/quantiles.ts'

/**
 * Figure 3.7: one worker and a page of 100 read over HTTP at a fixed arrival rate, with 10,000 workers stored. Alternates
 * with a bare server that sends as many bytes, which shows the cost of Node and of a busy machine.
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
/** Random pages, so that none is read more often than others. */
const onePage = () => requestText('GET', `workers?limit=${PAGE}&cursor=${anywhere(WORKERS - PAGE - 1)}`)

interface Scenario {
  readonly name: string
  readonly server: Served
  readonly next: (n: number) => Arrival
}

interface Result {
  readonly name: string
  readonly times: readonly number[]
  readonly cpuPercent: number
}

async function run({ name, server, next }: Scenario, seconds: number): Promise<Result[]> {
  const before = await server.cpuMs()
  const took = await atFixedRate(server.port, { perSecond: PER_SECOND, seconds, next })
  const cpuPercent = Math.round(((await server.cpuMs()) - before) / (seconds * 10))
  return [...took].map(([kind, times]) => ({ name: `${name}${kind}`, times, cpuPercent }))
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
const scenarios: readonly Scenario[] = [
  { name: 'bare: ', server: bare, next: () => ({ kind: 'bytes of a page', request: bareRequests.page }) },
  { name: '', server: api, next: one },
  { name: '', server: api, next: page },
  { name: 'half and half: ', server: api, next: n => (n % 2 === 0 ? one() : page()) },
]
for (const scenario of scenarios) await run(scenario, WARM_UP_SECONDS)
const results: Result[] = []
for (let round = 0; round < ROUNDS; round += 1)
  for (const scenario of scenarios) results.push(...(await run(scenario, SECONDS)))
await Promise.all([api.stop(), bare.stop()])

const names = [...new Set(results.map(({ name }) => name))]
const timesOf = (name: string) => results.filter(result => result.name === name)
const figures = names.map(name => {
  const those = timesOf(name)
  const took = medianOf(those.map(({ times }) => quantilesOf(times)))
  const cpu = `${median(those.map(({ cpuPercent }) => cpuPercent))} % of a core`
  const what = `${name}, ${PER_SECOND} requests/s, ${shown(WORKERS)} workers`
  return name.startsWith('bare') ? measured(what, `${wordsOf(took)} (${cpu})`) : p99AtMost(what, BAR_P99_MS, took, cpu)
})
const series = Object.fromEntries(names.map(name => [name, timesOf(name).flatMap(({ times }) => times)]))
conclude({
  bench: 'api-reads',
  figures,
  charts: [cdfChart('api-reads', `Reads at ${PER_SECOND} requests/s, ${shown(WORKERS)} workers`, series, BAR_P99_MS)],
  details: { bytes },
})
