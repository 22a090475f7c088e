import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { onMongo, onSqlite } from '../../../simulation/cluster/clusters/rolling-restart-clusters.ts'
import { type RollingVerdict, rollingRestart } from '../../../simulation/cluster/rolling-restart.ts'
import { conclude, measured, never, shown } from '../../report/figure-report.ts'

/**
 * Restarts every replica of every service one after the other, twice, while sessions are booked, used and canceled. Real
 * processes on a real etcd: two APIs on a server with the MongoDB protocol if it is installed, else one on SQLite; two of each
 * controller. Counts violations.
 */
const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '200' },
    workers: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '2' },
    signal: { type: 'string', default: 'SIGTERM' },
    store: { type: 'string', default: 'mongodb' },
    lease: { type: 'string', default: '15' },
  },
})
const [sessions, workers, rounds] = [values.sessions, values.workers, values.rounds].map(Number)
const signal = values.signal === 'SIGKILL' ? 'SIGKILL' : 'SIGTERM'
/** In one round both replicas of every service are restarted. */
const passes = Array.from({ length: 2 * (rounds ?? 0) }, () => signal)

const isMongo = values.store === 'mongodb' && hasMongo()
const setup = isMongo ? await onMongo() : await onSqlite({ leaseTtlSeconds: Number(values.lease) })
let verdict: RollingVerdict
let defects: readonly string[]
try {
  const print = (line: string) => console.log(`  ${line}`)
  verdict = await rollingRestart(setup, { sessions: sessions ?? 0, workers: workers ?? 0, passes, print })
  defects = setup.defects()
} finally {
  await setup.close()
}

function hasMongo(): boolean {
  try {
    execFileSync(process.execPath, [fileURLToPath(new URL('../../../tools/interop/mongo-server.mjs', import.meta.url))])
    return true
  } catch {
    return false
  }
}

const wrong = {
  sessions: verdict.lost,
  labs: verdict.labsAstray,
  changes: verdict.missed,
  writes: verdict.writesLost,
  exits: verdict.badExits,
  defects,
}
const { restarts, writes, launchedTwice, apiGapMs, leaderGapMs } = verdict
for (const [name, all] of Object.entries(wrong)) for (const each of all) console.log(`  ${name}: ${each}`)
const where = isMongo ? 'two APIs on the MongoDB protocol' : 'one API on SQLite'
const gaps = Object.entries(leaderGapMs).map(([service, ms]) => `${service} ${shown(ms)} ms`)
conclude({
  bench: 'rolling-restart',
  figures: [
    never(
      `${restarts} restarts with ${signal}, ${where}, ${verdict.sessions} sessions, ${shown(writes)} acknowledged writes`,
      {
        'session lost': verdict.lost.length,
        'lab astray': verdict.labsAstray.length,
        'machine launched twice': launchedTwice,
        'change missed': verdict.missed.length,
        'write lost': verdict.writesLost.length,
        'bad exit': verdict.badExits.length,
        defect: defects.length,
      },
    ),
    measured('the same, longest wait for the API', `${shown(apiGapMs)} ms`),
    measured('the same, longest time without a leader', gaps.join(', ')),
  ],
})
