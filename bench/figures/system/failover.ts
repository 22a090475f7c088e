import { parseArgs } from 'node:util'
import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { systemClock } from '@lcm/runtime/clock'
import { openWorkerCluster } from '../../../simulation/cluster/clusters/worker-controller-cluster.ts'
import { startFailoverRun, type Verdict } from '../../../simulation/cluster/failover-run.ts'
import { cdfChart } from '../../report/cdf-chart.ts'
import { conclude, type Figure, measured, never, p99AtMost, wordsOf } from '../../report/figure-report.ts'
import { quantilesOf } from '../../report/quantiles.ts'

/**
 * Real processes on a real etcd: the time without a leader after kill -9, SIGTERM and a freeze, from the signal to the
 * accepted term of the successor. Also counts violations.
 */
const { values } = parseArgs({
  options: {
    lease: { type: 'string', default: '15' },
    kills: { type: 'string', default: '20' },
    handovers: { type: 'string', default: '20' },
    freezes: { type: 'string', default: '0' },
  },
})
const KILL_P99_MS_MAX = 1_000
const HANDOVER_P99_MS_MAX = 200
/** Long enough for the new standby to open its connections. */
const SETTLE_MS = 1_000

const lease = Number(values.lease)
const etcd = await startEtcd()
const cluster = await openWorkerCluster({ etcd: etcd.endpoints, leaseTtlSeconds: lease })
const took = { kill: [] as number[], handover: [] as number[], freeze: [] as number[] }
let verdict: Verdict
try {
  const run = await startFailoverRun(cluster)
  const cycle = async (times: number, into: number[], lose: () => Promise<number>, busy: boolean) => {
    for (let i = 0; i < times; i++) {
      await systemClock.sleep(SETTLE_MS)
      if (busy) await run.changeDesiredStatus()
      into.push(await lose())
    }
  }
  await cycle(Number(values.handovers), took.handover, () => run.kill('SIGTERM'), false)
  await cycle(Number(values.kills), took.kill, () => run.kill('SIGKILL'), true)
  await cycle(Number(values.freezes), took.freeze, () => run.freeze(), true)
  verdict = await run.verdict()
} finally {
  await cluster.close()
  await etcd.close()
}

const { staleWritesAccepted, termsOutOfOrder, machinesAstray } = verdict
/** The bars are for the default lease; the proof uses a shorter one. */
const isJudged = lease >= 15
const judged = (what: string, maxMs: number, times: readonly number[]): Figure[] => {
  if (times.length === 0) return []
  const [name, quantiles] = [`${what}, ${lease} s lease`, quantilesOf(times.map(Math.round))]
  const count = `${times.length} times`
  return [isJudged ? p99AtMost(name, maxMs, quantiles, count) : measured(name, `${wordsOf(quantiles)} (${count})`)]
}
const summary = (times: readonly number[]) => {
  const { p50, p99, max } = quantilesOf(times.map(Math.round))
  return { count: times.length, p50_ms: p50, p99_ms: p99, max_ms: max }
}
conclude({
  bench: 'failover',
  figures: [
    ...judged("SIGTERM with nothing in flight to the successor's accepted term", HANDOVER_P99_MS_MAX, took.handover),
    ...judged("kill -9 to the successor's accepted term", KILL_P99_MS_MAX, took.kill),
    ...judged('freeze past the lease to the same', lease * 1_000, took.freeze),
    never(`what must not happen in ${verdict.terms} terms and ${verdict.writes} writes`, {
      'stale write accepted': staleWritesAccepted,
      'term out of order': termsOutOfOrder,
      'machine astray': machinesAstray,
    }),
  ],
  charts: [
    cdfChart(
      'failover',
      `Time without a leader, ${lease} s lease`,
      { 'after kill -9': took.kill, 'after SIGTERM': took.handover },
      KILL_P99_MS_MAX,
    ),
  ],
  details: {
    lease_seconds: lease,
    kill: summary(took.kill),
    handover: summary(took.handover),
    freeze: summary(took.freeze),
    ...verdict,
  },
})
