import { join } from 'node:path'
import { closedLoop } from './api/closed-loop.ts'
import { conclude, loadNow, median, ROUNDS, rounded } from './api/figures.ts'
import { workerId } from './api/fleet.ts'
import { writeFleetFile } from './api/fleet-file.ts'
import { requestText } from './api/http-connections.ts'
import { scratchFolder, startApi } from './api/processes.ts'
import { rawCommits } from './api/raw-commits.ts'

/**
 * Figure 3.7: durable changes of workers through HTTP, in turns with bare durable commits of SQLite on the same disk. A change
 * is a PATCH of the tags of one of 1,000 workers, with its audit entry.
 */
const WORKERS = 1_000
const CLIENTS = 32
const SECONDS = 5
const BAR_RATIO = 0.25

const folder = scratchFolder()
const file = join(folder, 'lcm.sqlite')
await writeFleetFile(file, { workers: WORKERS })
const raw = rawCommits(join(folder, 'raw.sqlite'))
const api = await startApi(folder, file)
let written = 0
const patch = () => {
  written += 1
  return requestText('PATCH', `workers/${workerId((written * 7) % WORKERS)}`, { tags: { owner: `team-${written}` } })
}
const through = (clients: number, seconds = SECONDS) => closedLoop(api.port, { clients, seconds, next: patch })

await through(CLIENTS, 2)
const rounds: { raw: number; many: number; one: number }[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  rounds.push({ raw: raw.perSecond(SECONDS), many: await through(CLIENTS), one: await through(1) })
}
await api.stop()
raw.close()

const figures = {
  raw_per_second: Math.round(median(rounds.map(each => each.raw))),
  clients: CLIENTS,
  per_second: Math.round(median(rounds.map(each => each.many))),
  ratio: rounded(median(rounds.map(each => each.many / each.raw)), 3),
  alone_per_second: Math.round(median(rounds.map(each => each.one))),
  alone_ratio: rounded(median(rounds.map(each => each.one / each.raw)), 3),
}
const percent = (ratio: number) => `${(ratio * 100).toFixed(0)} %`
console.log(
  `durable changes of workers through HTTP, ${ROUNDS} times ${SECONDS} s each in turns, medians; ${loadNow()}`,
)
console.log(`  SQLite alone, one update per commit  ${figures.raw_per_second}/s`)
const bar = `(bar >= ${BAR_RATIO * 100} %)`
console.log(`  ${CLIENTS} clients                           ${figures.per_second}/s   ${percent(figures.ratio)} ${bar}`)
console.log(`  one client                           ${figures.alone_per_second}/s   ${percent(figures.alone_ratio)}`)
conclude('api-writes', figures, figures.ratio >= BAR_RATIO)
