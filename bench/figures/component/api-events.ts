import { join } from 'node:path'
import { systemClock } from '@lcm/runtime/clock'
import { openEventClients } from '../../api/event-clients.ts'
import { workerId } from '../../api/fleet-documents.ts'
import { openConnection, requestText } from '../../api/http-connections.ts'
import { scratchFolder, startApi } from '../../api/server-processes.ts'
import { writeFleetFile } from '../../api/write-fleet-store.ts'
import { cdfChart } from '../../report/cdf-chart.ts'
import { conclude, measured, never, p99AtMost, ROUNDS, wordsOf } from '../../report/figure-report.ts'
import { medianOf, quantilesOf } from '../../report/quantiles.ts'

/** Figure 3.7: from a change of a worker to its arrival at each of 100 event streams. */
const CLIENTS = 100
const WORKERS = 1_000
const PER_SECOND = 20
const SECONDS = 12
const SETTLE_MS = 1_000
const BAR_P99_MS = 50

const folder = scratchFolder()
const file = join(folder, 'lcm.sqlite')
await writeFleetFile(file, { workers: WORKERS })
const api = await startApi(folder, file)
const writer = await openConnection(api.port)
let written = 0

interface Write {
  /** `<id> <version>` */
  readonly name: string
  readonly sentMs: number
  readonly answeredMs: number
}

async function change(): Promise<Write> {
  written += 1
  const id = workerId((written * 7) % WORKERS)
  const sentMs = systemClock.monotonic()
  const answer = await writer.send(requestText('PATCH', `workers/${id}`, { tags: { owner: `team-${written}` } }), true)
  if (answer.status !== 200) throw new Error(`a change was answered with ${answer.status}`)
  const answeredMs = systemClock.monotonic()
  return { name: `${id} ${JSON.parse(answer.body).version}`, sentMs, answeredMs }
}

async function round(seconds: number) {
  const clients = await openEventClients(api.port, CLIENTS)
  const startMs = systemClock.monotonic()
  const writes: Write[] = []
  for (let n = 0; n < PER_SECOND * seconds; n += 1) {
    await systemClock.sleep(startMs + (n * 1000) / PER_SECOND - systemClock.monotonic())
    writes.push(await change())
  }
  await systemClock.sleep(SETTLE_MS)
  clients.close()
  const arrivals = writes.map(write => ({ ...write, times: clients.arrivals.get(write.name) ?? [] }))
  return {
    lost: arrivals.reduce((sum, { times }) => sum + CLIENTS - times.length, 0),
    // An event may arrive before the response to its change.
    fromAnswer: arrivals.flatMap(({ times, answeredMs }) => times.map(at => Math.max(0, at - answeredMs))),
    fromSending: arrivals.flatMap(({ times, sentMs }) => times.map(at => at - sentMs)),
  }
}

await round(2)
const rounds: Awaited<ReturnType<typeof round>>[] = []
for (let n = 0; n < ROUNDS; n += 1) rounds.push(await round(SECONDS))
writer.close()
await api.stop()

const lost = rounds.reduce((sum, each) => sum + each.lost, 0)
const fromAnswer = medianOf(rounds.map(each => quantilesOf(each.fromAnswer)))
const fromSending = rounds.flatMap(each => each.fromSending)
conclude({
  bench: 'api-events',
  figures: [
    p99AtMost(
      `the answer to a change to its event at ${CLIENTS} streams, ${PER_SECOND} changes/s`,
      BAR_P99_MS,
      fromAnswer,
    ),
    measured('the same from sending the change', wordsOf(quantilesOf(fromSending))),
    never('events that a stream missed', { 'event lost': lost }),
  ],
  charts: [
    cdfChart(
      'api-events',
      `A change of a worker to its event at ${CLIENTS} streams`,
      { 'from the answer': rounds.flatMap(each => each.fromAnswer), 'from sending': fromSending },
      BAR_P99_MS,
    ),
  ],
})
