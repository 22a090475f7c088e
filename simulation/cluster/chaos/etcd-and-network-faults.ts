import type { EtcdMember } from '@lcm/coordination/testing/etcd-server'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, leads } from '../clusters/controller-cluster.ts'
import { eventually } from '../failover-run.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { Connection } from './cuttable-connections.ts'
import type { Fault } from './fault-under-load.ts'
import { PAST_LEASE_MS, repeated, untilAnotherLeads } from './process-faults.ts'

/** Time without a member of etcd, or without all. */
const DOWN_MS = 3_000

export const memberLosses = (rounds: number): Fault => ({
  name: 'etcd',
  description: 'kill -9 of the leading member of three, of another, and of all at once; started again with their data',
  steps: repeated(rounds, [
    { what: 'leading member of etcd killed', inject: async setup => loseMember(setup, true) },
    { what: 'another member of etcd killed', inject: async setup => loseMember(setup, false) },
    { what: 'all members of etcd killed', inject: loseAll },
    { what: 'all members of etcd killed again', inject: loseAll },
  ]),
})

/** Two of three members must be enough: leaders stay and writes succeed. */
async function loseMember({ etcd, cluster }: ChaosCluster, isLeading: boolean): Promise<void> {
  const leader = await etcd.leader()
  const lost = isLeading ? leader : etcd.members.find(member => member !== leader)
  await lost?.kill()
  await systemClock.sleep(DOWN_MS)
  try {
    for (const service of CONTROLLERS) await cluster.leaderOf(service)
  } finally {
    await lost?.restart()
  }
}

async function loseAll({ etcd }: ChaosCluster): Promise<void> {
  await Promise.all(etcd.members.map(member => member.kill()))
  await systemClock.sleep(DOWN_MS)
  await Promise.all(etcd.members.map(member => member.restart()))
}

/** Connections that drop everything and never end: the worst failure of a network. */
export const partitions = (rounds: number): Fault => ({
  name: 'partitions',
  description:
    'connections that drop everything for longer than a lease: each leader from etcd (not from the API and the cloud), ' +
    'each leader from the API, the API from etcd; the leading member of etcd and another from the other two (not from the clients)',
  steps: repeated(rounds, [
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} cut from etcd`, inject: cutFromEtcd(service) })),
    { what: 'leading member of etcd cut from the others', inject: setup => cutMember(setup, true) },
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} cut from the API`, inject: cutFromApi(service) })),
    { what: 'another member of etcd cut from the others', inject: setup => cutMember(setup, false) },
    { what: 'API cut from etcd', inject: setup => whileShut(setup.connectionToEtcd('api'), () => pastLease(setup)) },
  ]),
})

/** Two of three members must be enough, although the third still accepts connections. */
async function cutMember(setup: ChaosCluster, isLeading: boolean): Promise<void> {
  const { etcd, peers, cluster } = setup
  const leader = await etcd.leader()
  const alone = isLeading ? leader : etcd.members.find(member => member !== leader)
  if (alone === undefined) return
  const id = await alone.id()
  await peers.cutOff(alone)
  try {
    const others = etcd.members.filter(member => member !== alone)
    await Promise.all([pastLease(setup), untilSplit(alone, id, others)])
    for (const service of CONTROLLERS) await cluster.leaderOf(service)
  } finally {
    peers.reconnect()
  }
}

/** Waits until the member has no leader and the others have elected one of themselves. */
const untilSplit = (alone: EtcdMember, id: bigint, others: readonly EtcdMember[]) =>
  eventually(`${alone.name} to be alone`, async () => {
    const led = await Promise.all([alone, ...others].map(member => member.leaderId().catch(() => 0n)))
    const [own, ...seen] = led
    return own === 0n && seen.every(leader => leader !== 0n && leader !== id) ? true : null
  })

/** Controllers must not act on a cloud that does not respond. */
export const cloudCuts = (rounds: number): Fault => ({
  name: 'cloud-cuts',
  description:
    'connections that drop everything for longer than a lease: the leading worker-controller from EC2 and then from every CML, the ' +
    'leading lablet-controller from every CML',
  steps: repeated(rounds, [
    {
      what: 'worker-controller cut from EC2',
      inject: setup => cutFromCloud(setup, 'worker-controller', 'connectionToEc2'),
    },
    {
      what: 'lablet-controller cut from CML',
      inject: setup => cutFromCloud(setup, 'lablet-controller', 'connectionToCml'),
    },
    {
      what: 'worker-controller cut from CML',
      inject: setup => cutFromCloud(setup, 'worker-controller', 'connectionToCml'),
    },
    {
      what: 'lablet-controller cut from CML',
      inject: setup => cutFromCloud(setup, 'lablet-controller', 'connectionToCml'),
    },
  ]),
})

async function cutFromCloud(
  setup: ChaosCluster,
  service: ServiceName,
  connection: 'connectionToEc2' | 'connectionToCml',
): Promise<void> {
  // A controller that never used the connection, or has another one, would not notice the cut.
  const { name, url } = await eventually(`a ${service} that leads and uses its connection to the cloud`, async () => {
    const leader = await setup.cluster.leaderOf(service)
    return setup[connection](leader.name).passed > 0 ? leader : null
  })
  await whileShut(setup[connection](name), async () => {
    await setup.cluster.ask({ url }, 'POST /admin/trigger-reconcile')
    await pastLease(setup)
  })
}

const cutFromEtcd =
  (service: ServiceName) =>
  async (setup: ChaosCluster): Promise<void> => {
    const leader = await setup.cluster.leaderOf(service)
    await whileShut(setup.connectionToEtcd(leader.name), async () => {
      await Promise.all([untilAnotherLeads(setup.cluster.replicasOf(service), leader), pastLease(setup)])
      if (await leads(leader)) throw new Error(`${leader.name} leads on without etcd`)
    })
  }

/** A leader that can't reach the API keeps or resigns its leadership, and changes nothing meanwhile. */
const cutFromApi =
  (service: ServiceName) =>
  async (setup: ChaosCluster): Promise<void> => {
    const leader = await setup.cluster.leaderOf(service)
    await whileShut(setup.connectionToApi(leader.name), () => pastLease(setup))
  }

const pastLease = ({ leaseMs }: ChaosCluster) => systemClock.sleep(leaseMs + PAST_LEASE_MS)

async function whileShut(connection: Connection, work: () => Promise<unknown>): Promise<void> {
  connection.shut()
  try {
    await work()
  } finally {
    connection.open()
  }
}
