/** Figure of 5.5: from the booking of a session to its place on a worker, on a quiet `lcm up`. */
import { toMs } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { conclude, loadNow, quantilesOf } from './api/figures.ts'
import { runningLcm, until } from './product/running-lcm.ts'

const SESSIONS = 100
/** Made first and not counted: the first waits until a CML that has just come up has said which nodes it knows. */
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

const lcm = await runningLcm(39_437)
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

const { p50, p99, max } = quantilesOf(took.slice(WARM_UPS))
console.log(`${SESSIONS} sessions, one after another; ${loadNow()}`)
console.log(`  booked to placed   p50 ${p50} ms   p99 ${p99} ms   max ${max} ms   (bar p99 <= ${BAR_P99_MS} ms)`)
conclude('session-latency', { sessions: SESSIONS, p50, p99, max }, p99 <= BAR_P99_MS)
