import { parseArgs } from 'node:util'
import { openReplicas } from '../../../simulation/cluster/clusters/api-replicas.ts'
import { killStorm, type StormVerdict } from '../../../simulation/cluster/kill-storm.ts'
import { conclude, measured, never, shown, wordsOf } from '../../report/figure-report.ts'
import { quantilesOf } from '../../report/quantiles.ts'

/**
 * Two real processes of the API on one server with the MongoDB protocol and one etcd, killed alternately in a storm of writes.
 * Measures the time until the survivor has delivered all acknowledged changes, and counts violations.
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

const { writesLost, auditLost, auditTwice, eventsGoneBack, resets } = verdict
for (const each of [...writesLost, ...auditLost, ...auditTwice, ...defects]) console.log(`  ${each}`)
const figures = [
  never(
    `two replicas of the API, ${verdict.kills} alternating kills, ${shown(verdict.acknowledged)} acknowledged writes`,
    {
      'write lost': writesLost.length,
      'audit entry lost': auditLost.length,
      'audit entry twice': auditTwice.length,
      'event gone back': eventsGoneBack,
      reset: resets,
      defect: defects.length,
    },
  ),
  measured(
    'kill -9 to the delivery of all acknowledged changes by the survivor',
    wordsOf(quantilesOf(verdict.deliveredAfterMs)),
  ),
]
conclude({ bench: 'replicas', figures, details: { kills: verdict.kills, acknowledged: verdict.acknowledged } })
