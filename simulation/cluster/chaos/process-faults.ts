import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, leads } from '../clusters/session-cluster.ts'
import { eventually } from '../failover.ts'
import type { ServiceProcess } from '../processes/service-process.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { Fault, FaultStep } from './fault-under-load.ts'

/** Beyond the lease, so that nobody can think that it is still held. */
export const PAST_LEASE_MS = 1_000

/** kill -9 of everything that can be killed, one after the other. */
export const kills = (rounds: number): Fault => ({
  name: 'kills',
  isOverAtOnce: true,
  told: 'kill -9 of the leader and the standby of each controller, of the API and of the cloud, in turn',
  strokes: repeated(rounds, [
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} killed`, strike: killLeader(service) })),
    { what: 'API killed', strike: async ({ api }) => void (await api.restart('SIGKILL')) },
    ...CONTROLLERS.map(service => ({ what: `standby of ${service} killed`, strike: killStandby(service) })),
    { what: 'cloud killed', strike: ({ cluster }) => cluster.restartCloud() },
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

/** As if the power went. */
export const powerCuts = (rounds: number): Fault => ({
  name: 'power-cut',
  isOverAtOnce: true,
  told: 'kill -9 of every process at once, etcd too, and all started again',
  strokes: repeated(rounds, [
    { what: 'everything killed', strike: cutPower },
    { what: 'everything killed again', strike: cutPower },
  ]),
})

async function cutPower({ cluster, api, etcd }: ChaosCluster): Promise<void> {
  const crew = CONTROLLERS.flatMap(service => cluster.replicasOf(service).map(each => ({ service, each })))
  await Promise.all([
    ...crew.map(({ each }) => cluster.forget(each)),
    ...etcd.members.map(member => member.kill()),
    api.restart('SIGKILL'),
    cluster.restartCloud(),
  ])
  await Promise.all(etcd.members.map(member => member.restart()))
  await Promise.all(crew.map(({ service }) => cluster.startStandby(service)))
}

/** Leaders and the API stand still for longer than a lease, and go on as if nothing had happened. */
export const freezes = (rounds: number): Fault => ({
  name: 'freezes',
  told: 'SIGSTOP of each leader until another leads and past the lease, of the API past the lease, then SIGCONT',
  strokes: repeated(rounds, [
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} frozen`, strike: freezeLeader(service) })),
    { what: 'API frozen', strike: freezeApi },
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

export const repeated = (rounds: number, strokes: readonly FaultStep[]): readonly FaultStep[] =>
  Array.from({ length: rounds }, () => strokes).flat()
