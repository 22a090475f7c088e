import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, leads } from '../clusters/controller-cluster.ts'
import { eventually } from '../failover-run.ts'
import type { ServiceProcess } from '../processes/service-process.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { Fault, FaultStep } from './fault-under-load.ts'

/** Margin after the end of a lease. */
export const PAST_LEASE_MS = 1_000

/** kill -9 of every process, one after the other. */
export const kills = (rounds: number): Fault => ({
  name: 'kills',
  isOverAtOnce: true,
  description:
    'kill -9 of the leader and the standby of each controller, of the API and of the cloud, one after the other',
  steps: repeated(rounds, [
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} killed`, inject: killLeader(service) })),
    { what: 'API killed', inject: async ({ api }) => void (await api.restart('SIGKILL')) },
    ...CONTROLLERS.map(service => ({ what: `standby of ${service} killed`, inject: killStandby(service) })),
    { what: 'cloud killed', inject: ({ cluster }) => cluster.restartCloud() },
  ]),
})

const killLeader =
  (service: ServiceName) =>
  async ({ cluster }: ChaosCluster): Promise<void> => {
    await cluster.end(await cluster.leaderOf(service), 'SIGKILL')
    await cluster.startStandby(service)
  }

const killStandby =
  (service: ServiceName) =>
  async ({ cluster }: ChaosCluster): Promise<void> => {
    await cluster.end(await cluster.standbyOf(service), 'SIGKILL')
    await cluster.startStandby(service)
  }

/** kill -9 of all processes at once, like a power cut. */
export const powerCuts = (rounds: number): Fault => ({
  name: 'power-cut',
  isOverAtOnce: true,
  description: 'kill -9 of every process at once, etcd too, and all started again',
  steps: repeated(rounds, [
    { what: 'everything killed', inject: cutPower },
    { what: 'everything killed again', inject: cutPower },
  ]),
})

async function cutPower({ cluster, api, etcd }: ChaosCluster): Promise<void> {
  const replicas = CONTROLLERS.flatMap(service => cluster.replicasOf(service).map(each => ({ service, each })))
  await Promise.all([
    ...replicas.map(({ each }) => cluster.forget(each)),
    ...etcd.members.map(member => member.kill()),
    api.restart('SIGKILL'),
    cluster.restartCloud(),
  ])
  await Promise.all(etcd.members.map(member => member.restart()))
  await Promise.all(replicas.map(({ service }) => cluster.startStandby(service)))
}

/** Leaders and the API are frozen for longer than a lease and then continue. */
export const freezes = (rounds: number): Fault => ({
  name: 'freezes',
  description: 'SIGSTOP of each leader until another leads and past the lease, of the API past the lease, then SIGCONT',
  steps: repeated(rounds, [
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} frozen`, inject: freezeLeader(service) })),
    { what: 'API frozen', inject: freezeApi },
  ]),
})

const freezeLeader =
  (service: ServiceName) =>
  async ({ cluster, leaseMs }: ChaosCluster): Promise<void> => {
    const frozen = await cluster.leaderOf(service)
    frozen.signal('SIGSTOP')
    try {
      await Promise.all([
        untilAnotherLeads(cluster.replicasOf(service), frozen),
        systemClock.sleep(leaseMs + PAST_LEASE_MS),
      ])
    } finally {
      frozen.signal('SIGCONT')
    }
  }

async function freezeApi({ api, leaseMs }: ChaosCluster): Promise<void> {
  const frozen = api.process
  frozen.signal('SIGSTOP')
  await systemClock.sleep(leaseMs + PAST_LEASE_MS)
  frozen.signal('SIGCONT')
}

export const untilAnotherLeads = (replicas: readonly ServiceProcess[], than: ServiceProcess) =>
  eventually(
    `a leader other than ${than.name}`,
    async () => {
      const others = replicas.filter(each => each !== than)
      return (await Promise.all(others.map(leads))).includes(true) ? true : null
    },
    50,
  )

export const repeated = (rounds: number, steps: readonly FaultStep[]): readonly FaultStep[] =>
  Array.from({ length: rounds }, () => steps).flat()
