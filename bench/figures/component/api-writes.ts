import { join } from 'node:path'
import { rawCommits } from '../../api/bare-sqlite-commits.ts'
import { closedLoop } from '../../api/closed-loop-load.ts'
import { workerId } from '../../api/fleet-documents.ts'
import { requestText } from '../../api/http-connections.ts'
import { scratchFolder, startApi } from '../../api/server-processes.ts'
import { writeFleetFile } from '../../api/write-fleet-store.ts'
import { atLeast, conclude, measured, ROUNDS, shown } from '../../report/figure-report.ts'
import { median, rounded } from '../../report/quantiles.ts'

/**
 * Figure 3.7: durable changes of workers over HTTP, alternating with bare durable commits of SQLite on the same disk. A change
 * is a PATCH of the tags of one of 1,000 workers, with its audit entry.
 */
const WORKERS = 1_000
const CLIENTS = 32
const SECONDS = 5
const BAR_PERCENT = 25

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

const middle = (of: (each: (typeof rounds)[number]) => number) => median(rounds.map(of))
const rate = (perSecond: number, ofWhat: number) =>
  `${shown(Math.round(perSecond))}/s of ${shown(Math.round(ofWhat))}/s`
const [bare, many, one] = [middle(each => each.raw), middle(each => each.many), middle(each => each.one)]
const shares = { many: middle(each => each.many / each.raw), one: middle(each => each.one / each.raw) }
conclude({
  bench: 'api-writes',
  figures: [
    atLeast(
      `durable changes of workers through HTTP, ${CLIENTS} clients, of bare durable SQLite commits`,
      BAR_PERCENT,
      {
        value: rounded(shares.many * 100),
        unit: '%',
        more: rate(many, bare),
      },
    ),
    measured('the same, one client', `${rounded(shares.one * 100)} % (${rate(one, bare)})`),
  ],
})
