import { parseArgs } from 'node:util'
import { openReplicas } from '../../../simulation/cluster/clusters/api-replicas.ts'
import { killStorm, type StormVerdict } from '../../../simulation/cluster/kill-storm.ts'
import { conclude, never, shown, told, wordsOf } from '../../report/figures.ts'
import { quantilesOf } from '../../report/quantiles.ts'

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

const { writesLost, auditLost, auditTwice, eventsGoneBack, resets } = verdict
for (const each of [...writesLost, ...auditLost, ...auditTwice, ...defects]) console.log(`  ${each}`)
const figures = [
  never(
    `two replicas of the API, ${verdict.kills} kills by turns, ${shown(verdict.acknowledged)} acknowledged writes`,
    {
      'write lost': writesLost.length,
      'audit entry lost': auditLost.length,
      'audit entry twice': auditTwice.length,
      'event gone back': eventsGoneBack,
      reset: resets,
      defect: defects.length,
    },
  ),
  told('kill -9 to all that was acknowledged being told by the survivor', wordsOf(quantilesOf(verdict.toldAfterMs))),
]
conclude({ bench: 'replicas', figures, details: { kills: verdict.kills, acknowledged: verdict.acknowledged } })
