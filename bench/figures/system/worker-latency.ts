/**
 * Figure of 4.10: from a request of a user to the call to EC2, on an idle `lcm up` with its simulated cloud. The journal of the
 * cloud has the time of the call.
 */
import type { JournalEntry } from '@lcm/client/sim-client'
import { toMs } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { runningLcm, until } from '../../product/lcm-up-process.ts'
import { cdfChart } from '../../report/cdf-chart.ts'
import { conclude, p99AtMost } from '../../report/figure-report.ts'
import { quantilesOf } from '../../report/quantiles.ts'

const REQUESTS = 100
const BAR_P99_MS = 100
/** Warm-up: the first of each kind runs code for the first time. */
const WARM_UPS = 4
/** Pause after the last change: changes of one worker within half a second are merged. */
const REST_MS = 1_000

const lcm = await runningLcm(19_427)
const { client, sim, workers } = lcm

const { signal } = new AbortController()
const took: number[] = []
for (let n = 0; n < WARM_UPS + REQUESTS; n += 1) {
  const id = workers[(n >> 1) % workers.length]?.id ?? ''
  const isStop = n % 2 === 0
  const [settled, action] = isStop ? (['RUNNING', 'StopInstances'] as const) : (['STOPPED', 'StartInstances'] as const)
  const { ec2_instance_id: machine } = await until(`${settled} ${id}`, async () => {
    const worker = await client.call('getWorker', { params: { id } })
    const isAtRest = worker.status === settled && systemClock.now() - toMs(worker.updated_at) >= REST_MS
    return isAtRest ? worker : null
  })
  const askedAtMs = systemClock.now()
  await client.call(isStop ? 'stopWorker' : 'startWorker', { params: { id }, body: { force: true } })
  const isMine = (each: JournalEntry) =>
    each.action === action && each.instance_ids.includes(machine ?? '') && Date.parse(each.at) >= askedAtMs
  const call = await until(
    `${action} of ${machine}`,
    async () => (await sim.requests(500, signal)).find(isMine) ?? null,
  )
  took.push(Date.parse(call.at) - askedAtMs)
}
await lcm.stop()

const counted = took.slice(WARM_UPS)
conclude({
  bench: 'worker-latency',
  figures: [p99AtMost('a request to the call to EC2, `lcm up`', BAR_P99_MS, quantilesOf(counted), `${REQUESTS} times`)],
  charts: [cdfChart('worker-latency', 'A request to the call to EC2', { requests: counted }, BAR_P99_MS)],
})
