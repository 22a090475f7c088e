import type { Client } from '@lcm/client/client'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, type ControllerCluster, leads } from './clusters/controller-cluster.ts'
import { type DowntimeGauge, downtimeGauge } from './downtime-gauge.ts'
import { openEventLog, versionsGoingBack } from './event-log.ts'
import { eventually } from './failover-run.ts'
import { type ClassLoad, classLoad } from './load/classroom-load.ts'
import { startWriter } from './load/label-writer.ts'
import { enroll } from './load/learner.ts'
import { retryingClient } from './load/retrying-client.ts'

/** One process of the API with a fixed address. */
export interface RestartableApi {
  readonly url: string
  /** An administrator there. */
  readonly client: Client
  /** Returns the exit code of the old process once the new one listens. */
  restart(signal: NodeJS.Signals): Promise<number | null>
}

export interface RollingCluster {
  readonly cluster: ControllerCluster
  readonly apis: readonly RestartableApi[]
  readonly adminToken: string
}

type Signal = 'SIGTERM' | 'SIGKILL'

export interface RollingPlan {
  readonly sessions: number
  /** Each worker has capacity for 40 sessions by its license. */
  readonly workers: number
  /** In each pass one replica of every service is restarted, with this signal; a leader where there is one. */
  readonly passes: readonly Signal[]
  /** Poll interval of the gauges: short intervals cost CPU time. */
  readonly gaugeEveryMs?: number
  /** Prints progress. */
  readonly print?: (line: string) => void
}

export interface RollingVerdict {
  readonly restarts: number
  readonly sessions: number
  /** Sessions without a normal life, each with its result. */
  readonly lost: readonly string[]
  /** Difference between the number of machines and of workers. */
  readonly launchedTwice: number
  /** Sessions without exactly one lab while they ran, or with one after their end. */
  readonly labsAstray: readonly string[]
  /** Changes that a listener missed or received in the wrong order, and resets. */
  readonly missed: readonly string[]
  readonly writes: number
  readonly writesLost: readonly string[]
  /** Processes with an unexpected exit code. */
  readonly badExits: readonly string[]
  /** Longest wait of a client that retries at the next replica. */
  readonly apiGapMs: number
  /** Longest time without a leader, by service. */
  readonly leaderGapMs: Readonly<Record<string, number>>
}

/** Restarts one replica after the other, each when the previous one is ready, while sessions come and go. */
export async function rollingRestart(setup: RollingCluster, plan: RollingPlan): Promise<RollingVerdict> {
  const { cluster, apis, adminToken } = setup
  const client = retryingClient(
    apis.map(({ url }) => url),
    adminToken,
  )
  const learner = await enroll(cluster, { client, workers: plan.workers, topology: ONE_HOST, isLicensed: true })
  const listener = await openEventLog(apis.map(api => api.client))
  const gauges = openGauges(cluster, client, plan.gaugeEveryMs)
  const writer = startWriter(client, learner.workerId)
  const day = classLoad(client, learner)
  const badExits = await restartAll(setup, plan, day)
  await day.over()
  const writesLost = await writer.stop()
  const { api, leaders } = gauges
  await Promise.all([api, ...leaders.values()].map(gauge => gauge.stop()))
  const missed = await listener.untilReceived(await versionsNow(client)).then(
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
      ...versionsGoingBack(listener.received).map(({ id, version }) => `${id} went back to ${version}`),
      ...Array.from({ length: listener.resets }, () => 'the listener got a reset'),
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

/** Sessions are booked in the first half and canceled in the second. Returns unexpected exit codes. */
async function restartAll(setup: RollingCluster, plan: RollingPlan, day: ClassLoad): Promise<readonly string[]> {
  const restarts = restartsOf(plan)
  const half = restarts.length / 2
  const bad: string[] = []
  for (const [step, restart] of restarts.entries()) {
    if (step === half) {
      await day.allRun()
      plan.print?.('every session runs')
    }
    const share = Math.ceil((plan.sessions * ((step % half) + 1)) / half)
    if (step < half) day.bookUpTo(share)
    else day.cancelUpTo(share)
    const since = systemClock.monotonic()
    const code = await perform(setup, restart)
    const seconds = ((systemClock.monotonic() - since) / 1000).toFixed(1)
    plan.print?.(
      `${step + 1} of ${restarts.length}: ${restart.service} restarted with ${restart.signal} in ${seconds} s`,
    )
    const expected = restart.signal === 'SIGTERM' ? 0 : null
    if (code !== expected) bad.push(`${restart.service} ended with ${code} after ${restart.signal}`)
  }
  return bad
}

async function perform({ cluster, apis }: RollingCluster, { service, signal, pass }: Restart): Promise<number | null> {
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

function openGauges(cluster: ControllerCluster, client: Client, everyMs?: number) {
  const hasLeader = async (service: ServiceName) =>
    (await Promise.all(cluster.replicasOf(service).map(leads))).includes(true)
  const api = downtimeGauge(async () => (await client.call('listWorkers', { query: { limit: 1 } })) !== null, everyMs)
  const leaders = new Map<ServiceName, DowntimeGauge>(
    CONTROLLERS.map(service => [service, downtimeGauge(() => hasLeader(service), everyMs)]),
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
