import type { Client } from '@lcm/client/client'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, leads, type SessionCluster } from './clusters/session-cluster.ts'
import { eventually } from './failover.ts'
import { type ClassLoad, classLoad } from './load/class-load.ts'
import { type DowntimeGauge, downtimeGauge } from './load/downtime-gauge.ts'
import { openEventLog, versionsGoingBack } from './load/event-log.ts'
import { enroll } from './load/learner.ts'
import { retryingClient } from './load/retrying-client.ts'
import { startWriter } from './load/writer.ts'

/** One process of the API, which keeps its address. */
export interface RestartableApi {
  readonly url: string
  /** An administrator there. */
  readonly client: Client
  /** Answers with the exit code of the first, once the second listens. */
  restart(signal: NodeJS.Signals): Promise<number | null>
}

export interface RollingCluster {
  readonly cluster: SessionCluster
  readonly apis: readonly RestartableApi[]
  readonly adminToken: string
}

type Signal = 'SIGTERM' | 'SIGKILL'

export interface RollingPlan {
  readonly sessions: number
  /** Each has room for 40 of the sessions, by its license. */
  readonly workers: number
  /** In each pass one replica of every service is restarted, with this signal; a leader where there is one. */
  readonly passes: readonly Signal[]
  /** How often the gaps are looked for: to know them well costs a core its time. */
  readonly gaugeEveryMs?: number
  /** Told what is done, as it is done. */
  readonly say?: (line: string) => void
}

export interface RollingVerdict {
  readonly restarts: number
  readonly sessions: number
  /** Sessions that were not given their lab and taken down as if nothing had happened, each with what became of it. */
  readonly lost: readonly string[]
  /** Machines that are there in the end beyond one for each worker, or short of it. */
  readonly launchedTwice: number
  /** Sessions without exactly one lab while they ran, or with one after their end. */
  readonly labsAstray: readonly string[]
  /** Changes that a listener did not hear of, or heard in the wrong order, or had to read anew. */
  readonly missed: readonly string[]
  readonly writes: number
  readonly writesLost: readonly string[]
  /** Processes that were asked to end and did not exit with 0. */
  readonly badExits: readonly string[]
  /** The longest that somebody waited for an answer who asks the next replica when one does not answer. */
  readonly apiGapMs: number
  /** By service: the longest that nobody led. */
  readonly leaderGapMs: Readonly<Record<string, number>>
}

/** One service after the other, replica by replica, each once the one before is ready; while a class comes and goes. */
export async function rollingRestart(place: RollingCluster, plan: RollingPlan): Promise<RollingVerdict> {
  const { cluster, apis, adminToken } = place
  const client = retryingClient(
    apis.map(({ url }) => url),
    adminToken,
  )
  const learner = await enroll(cluster, { client, workers: plan.workers, topology: ONE_HOST, isLicensed: true })
  const listener = await openEventLog(apis.map(api => api.client))
  const gauges = openGauges(cluster, client, plan.gaugeEveryMs)
  const writer = startWriter(client, learner.workerId)
  const day = classLoad(client, learner)
  const badExits = await restartAll(place, plan, day)
  await day.over()
  const writesLost = await writer.stop()
  const { api, leaders } = gauges
  await Promise.all([api, ...leaders.values()].map(gauge => gauge.stop()))
  const missed = await listener.untilHeard(await versionsNow(client)).then(
    () => [],
    (error: Error) => [error.message],
  )
  await listener.stop()
  const { items: workers } = await client.call('listWorkers', { query: { limit: 1000, include_terminated: true } })
  return {
    restarts: restartsOf(plan).length,
    sessions: plan.sessions,
    ...day.verdict(),
    launchedTwice: Math.abs((await cluster.machinesLaunched()) - workers.length),
    missed: [
      ...missed,
      ...versionsGoingBack(listener.heard).map(({ id, version }) => `${id} went back to ${version}`),
      ...Array.from({ length: listener.resets }, () => 'the listener had to read everything anew'),
    ],
    writes: writer.acknowledged,
    writesLost,
    badExits,
    apiGapMs: api.longestMs,
    leaderGapMs: Object.fromEntries([...leaders].map(([service, gauge]) => [service, gauge.longestMs])),
  }
}

export const ONE_HOST = `lab:
  version: 0.3.0
  title: One host
nodes:
  - { id: n0, label: host, node_definition: alpine, x: 0, y: 0, interfaces: [] }
links: []
`

type Restarted = ServiceName | 'api'
interface Restart {
  readonly service: Restarted
  readonly signal: Signal
  readonly pass: number
}

const restartsOf = ({ passes }: RollingPlan): readonly Restart[] =>
  passes.flatMap((signal, pass) => [...CONTROLLERS, 'api' as const].map(service => ({ service, signal, pass })))

/** In the first half everybody comes, in the second everybody goes. Answers what ended in another way than it should. */
async function restartAll(place: RollingCluster, plan: RollingPlan, day: ClassLoad): Promise<readonly string[]> {
  const restarts = restartsOf(plan)
  const half = restarts.length / 2
  const bad: string[] = []
  for (const [step, restart] of restarts.entries()) {
    if (step === half) {
      await day.allRun()
      plan.say?.('every session runs')
    }
    const share = Math.ceil((plan.sessions * ((step % half) + 1)) / half)
    if (step < half) day.bookUpTo(share)
    else day.cancelUpTo(share)
    const since = systemClock.monotonic()
    const code = await carryOut(place, restart)
    const seconds = ((systemClock.monotonic() - since) / 1000).toFixed(1)
    plan.say?.(`${step + 1} of ${restarts.length}: ${restart.service} restarted with ${restart.signal} in ${seconds} s`)
    const expected = restart.signal === 'SIGTERM' ? 0 : null
    if (code !== expected) bad.push(`${restart.service} ended with ${code} after ${restart.signal}`)
  }
  return bad
}

async function carryOut({ cluster, apis }: RollingCluster, { service, signal, pass }: Restart): Promise<number | null> {
  if (service === 'api') {
    const api = apis[pass % apis.length]
    const code = (await api?.restart(signal)) ?? null
    await untilReady(api?.url ?? '')
    return code
  }
  const code = await cluster.end(await cluster.leaderOf(service), signal)
  const { url } = await cluster.startStandby(service)
  await untilReady(url)
  return code
}

export const untilReady = (url: string) =>
  eventually(
    `${url} is ready`,
    async () => {
      const answer = await fetch(`${url}/ready`).catch(() => null)
      return answer?.status === 200 ? true : null
    },
    50,
  )

function openGauges(cluster: SessionCluster, client: Client, everyMs?: number) {
  const someoneLeads = async (service: ServiceName) =>
    (await Promise.all(cluster.replicasOf(service).map(leads))).includes(true)
  const api = downtimeGauge(async () => (await client.call('listWorkers', { query: { limit: 1 } })) !== null, everyMs)
  const leaders = new Map<ServiceName, DowntimeGauge>(
    CONTROLLERS.map(service => [service, downtimeGauge(() => someoneLeads(service), everyMs)]),
  )
  return { api, leaders }
}

export async function versionsNow(client: Client): Promise<(readonly [string, number])[]> {
  const lists = [
    await client.call('listSessions', { query: { limit: 1000, include_finished: true } }),
    await client.call('listWorkers', { query: { limit: 1000 } }),
  ]
  return lists.flatMap(({ items }) => items.map(({ id, version }) => [id, version] as const))
}
