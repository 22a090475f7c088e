/**
 * Figures of a burst: how long other requests wait while many launches wait for the rate limit of the account, on `lcm up` with
 * its simulated cloud.
 */
import { toMs } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { runningLcm, until } from '../../product/lcm-up-process.ts'
import { atMost, conclude, p99AtMost } from '../../report/figure-report.ts'
import { quantilesOf } from '../../report/quantiles.ts'

const STOPS = 20
const LAUNCHES_IN_FLIGHT = 60
const LAUNCHES = 100
const BAR_P99_MS = 500
const BAR_RATIO = 1.5

const lcm = await runningLcm(19_447)
const { client } = lcm

async function create(prefix: string, count: number): Promise<readonly string[]> {
  const ids = []
  for (let n = 0; n < count; n += 1) {
    const body = { template_name: 'nested', name: `${prefix}-${n}` }
    ids.push((await client.call('createWorker', { body })).id)
  }
  return ids
}

const worker = (id: string) => client.call('getWorker', { params: { id } })
const reached = (id: string, status: string) =>
  until(`${status} ${id}`, async () => {
    const seen = await worker(id)
    return seen.status === status ? seen : null
  })
/** Time from the first request to the first running worker. */
async function firstRunning(prefix: string, count: number): Promise<number> {
  const askedMs = systemClock.now()
  const ids = await create(prefix, count)
  return until(`one of ${prefix}`, async () => {
    const seen = await Promise.all(ids.slice(0, 8).map(worker))
    const times = seen.filter(({ status }) => status === 'RUNNING').map(each => toMs(each.entered_status_at))
    return times.length === 0 ? null : Math.min(...times) - askedMs
  })
}

async function stopsDuringLaunches(): Promise<readonly number[]> {
  const old = await create('old', STOPS)
  for (const id of old) await reached(id, 'RUNNING')
  await create('burst', LAUNCHES_IN_FLIGHT)
  const waits = []
  for (const id of old) {
    const askedMs = systemClock.now()
    await client.call('stopWorker', { params: { id }, body: { force: true } })
    const { entered_status_at } = await until(`stop of ${id}`, async () => {
      const seen = await worker(id)
      return seen.status === 'STOPPING' || seen.status === 'STOPPED' ? seen : null
    })
    waits.push(toMs(entered_status_at) - askedMs)
  }
  return waits
}

const singles = []
for (let n = 0; n < 3; n += 1) singles.push(await firstRunning(`single-${n}`, 1))
const waits = await stopsDuringLaunches()
await until('end of the burst', async () => {
  const { items } = await client.call('listWorkers', { query: { limit: 1000 } })
  return items.every(({ status }) => status !== 'PENDING') ? items : null
})
const first = await firstRunning('many', LAUNCHES)
await lcm.stop()

const single = quantilesOf(singles).p50
conclude({
  bench: 'launch-burst',
  figures: [
    p99AtMost(
      `a stop request to its announcement, ${LAUNCHES_IN_FLIGHT} launches in flight`,
      BAR_P99_MS,
      quantilesOf(waits),
      `${STOPS} stops`,
    ),
    atMost(`the first RUNNING of ${LAUNCHES} launches over that of one`, BAR_RATIO, {
      value: first / single,
      more: `${Math.round(first)} ms and ${Math.round(single)} ms`,
    }),
  ],
})
