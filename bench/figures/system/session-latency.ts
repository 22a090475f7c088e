/** Figure of 5.5: from the booking of a session to its placement, on an idle `lcm up`. */
import { toMs } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { runningLcm, until } from '../../product/lcm-up-process.ts'
import { cdfChart } from '../../report/cdf-chart.ts'
import { conclude, measured, p99AtMost } from '../../report/figure-report.ts'
import { quantilesOf } from '../../report/quantiles.ts'

const SESSIONS = 100
/** Warm-up: the first session waits until a new CML has reported its node definitions. */
const WARM_UPS = 2
const BAR_P99_MS = 200
const REST_MS = 500
const TOPOLOGY = `lab:
  version: 0.3.0
  title: One host
nodes:
  - id: n0
    label: host
    node_definition: alpine
    x: 0
    y: 0
    interfaces: []
links: []
`

const lcm = await runningLcm(19_437)
const { client } = lcm
await client.call('createDefinition', { body: { name: 'one-host', topology: TOPOLOGY } })
const took: number[] = []
for (let n = 0; n < WARM_UPS + SESSIONS; n += 1) {
  await systemClock.sleep(REST_MS)
  const { id } = await client.call('createSession', { body: { definition: 'one-host', duration_minutes: 30 } })
  const moments = await until('a place', async () => {
    const { state_history } = await client.call('getSession', { params: { id } })
    const at = (status: string) => state_history.find(({ to }) => to === status)?.at
    const [booked, placed] = [at('PENDING'), at('SCHEDULED')]
    return booked !== undefined && placed !== undefined ? { booked, placed } : null
  })
  took.push(toMs(moments.placed) - toMs(moments.booked))
  await client.call('cancelSession', { params: { id } })
  await until('an end', async () => {
    const { status } = await client.call('getSession', { params: { id } })
    return status === 'TERMINATED' ? true : null
  })
}
await lcm.stop()

const counted = took.slice(WARM_UPS)
conclude({
  bench: 'session-latency',
  figures: [
    p99AtMost('a session booked to its place, `lcm up`', BAR_P99_MS, quantilesOf(counted), `${SESSIONS} times`),
    measured('the first after a start, which waits for the node definitions of a CML', `${took[0]} ms`),
  ],
  charts: [cdfChart('session-latency', 'A session booked to its place', { sessions: counted }, BAR_P99_MS)],
})
