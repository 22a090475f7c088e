import { parseArgs } from 'node:util'
import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { openCluster } from '@lcm/host/testing/cluster'
import { startFailoverRun, type Verdict } from '@lcm/host/testing/failover'
import { systemClock } from '@lcm/runtime/clock'

/**
 * Real processes on a real etcd: how long nobody leads after kill -9, after SIGTERM and after a freeze, from the signal to
 * the successor's term being accepted by the API. Also counts what must never happen.
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
/** Long enough for the new standby to hold its connections, as it would in life. */
const SETTLE_MS = 1_000

const lease = Number(values.lease)
const etcd = await startEtcd()
const cluster = await openCluster({ etcd: etcd.endpoints, leaseTtlSeconds: lease })
const took = { kill: [] as number[], handover: [] as number[], freeze: [] as number[] }
let verdict: Verdict
try {
  const run = await startFailoverRun(cluster)
  const cycle = async (times: number, into: number[], lose: () => Promise<number>, busy: boolean) => {
    for (let i = 0; i < times; i++) {
      await systemClock.sleep(SETTLE_MS)
      if (busy) await run.changeAMind()
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

const quantile = (sorted: readonly number[], q: number) =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0)
const summary = (all: readonly number[]) => {
  const sorted = all.toSorted((a, b) => a - b)
  return {
    count: all.length,
    p50_ms: quantile(sorted, 0.5),
    p99_ms: quantile(sorted, 0.99),
    max_ms: quantile(sorted, 1),
  }
}
const result = {
  figure: 'failover',
  lease_seconds: lease,
  kill: summary(took.kill),
  handover: summary(took.handover),
  freeze: summary(took.freeze),
  ...verdict,
}

console.log(`leadership lost, real processes, ${lease} s lease`)
for (const [name, { count, p50_ms, p99_ms, max_ms }] of Object.entries({
  'kill -9': result.kill,
  SIGTERM: result.handover,
  freeze: result.freeze,
})) {
  if (count > 0)
    console.log(
      `  ${name.padEnd(8)} ${String(count).padStart(4)} times   p50 ${p50_ms} ms   p99 ${p99_ms} ms   max ${max_ms} ms`,
    )
}
console.log(
  `  ${verdict.terms} terms, ${verdict.writes} writes, ` +
    `${verdict.staleWritesAccepted} stale writes accepted, ${verdict.machinesAstray} machines astray`,
)
console.log(JSON.stringify(result))
const sound = verdict.staleWritesAccepted + verdict.termsOutOfOrder + verdict.machinesAstray === 0
const quick = lease < 15 || (result.kill.p99_ms <= KILL_P99_MS_MAX && result.handover.p99_ms <= HANDOVER_P99_MS_MAX)
process.exitCode = sound && quick ? 0 : 1
