import { parseArgs } from 'node:util'
import { killStorm, type StormVerdict } from '@lcm/host/testing/kill-storm'
import { openReplicas } from '@lcm/host/testing/replicas'

/**
 * Two real processes of the API on one server that speaks MongoDB and one etcd, killed by turns in a storm of writes: how long
 * it takes until the survivor has told all that was acknowledged before. Also counts what must never happen.
 */
const { values } = parseArgs({ options: { kills: { type: 'string', default: '20' } } })

const replicas = await openReplicas()
let verdict: StormVerdict
let defects: readonly string[]
try {
  verdict = await killStorm(replicas, Number(values.kills))
  defects = replicas.defects()
} finally {
  await replicas.close()
}

const sorted = verdict.toldAfterMs.toSorted((a, b) => a - b)
const quantile = (q: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0)
const result = {
  figure: 'replicas',
  kills: verdict.kills,
  acknowledged: verdict.acknowledged,
  told: { p50_ms: quantile(0.5), p99_ms: quantile(0.99), max_ms: quantile(1) },
  writes_lost: verdict.writesLost.length,
  events_gone_back: verdict.eventsGoneBack,
  resets: verdict.resets,
  audit_lost: verdict.auditLost.length,
  audit_twice: verdict.auditTwice.length,
  defects: defects.length,
}

console.log('two replicas of the API, killed by turns in a storm of writes')
console.log(
  `  ${result.kills} kills, ${result.acknowledged} acknowledged writes, ` +
    `told by the survivor after p50 ${result.told.p50_ms} ms, max ${result.told.max_ms} ms`,
)
console.log(
  `  lost: ${result.writes_lost} writes, ${result.audit_lost} audit entries; ${result.audit_twice} audit entries twice, ` +
    `${result.events_gone_back} events gone back, ${result.resets} resets, ${result.defects} defects`,
)
for (const each of [...verdict.writesLost, ...verdict.auditLost, ...verdict.auditTwice, ...defects])
  console.log(`  ${each}`)
console.log(JSON.stringify(result))
const wrong = result.writes_lost + result.audit_lost + result.audit_twice + result.events_gone_back
process.exitCode = wrong + result.resets + result.defects === 0 ? 0 : 1
