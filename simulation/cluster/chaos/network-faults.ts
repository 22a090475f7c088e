import type { EtcdMember } from '@lcm/coordination/testing/etcd-server'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, leads } from '../clusters/session-cluster.ts'
import { eventually } from '../failover.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { Connection } from './cuttable-connections.ts'
import type { Fault } from './fault-under-load.ts'
import { PAST_LEASE_MS, repeated, untilAnotherLeads } from './process-faults.ts'

/** How long etcd goes without a member, and without all. */
const DOWN_MS = 3_000

export const memberLosses = (rounds: number): Fault => ({
  name: 'etcd',
  told: 'kill -9 of the leading member of three, of another, and of all at once; started again on what they had',
  strokes: repeated(rounds, [
    { what: 'leading member of etcd killed', strike: async place => loseMember(place, true) },
    { what: 'another member of etcd killed', strike: async place => loseMember(place, false) },
    { what: 'all members of etcd killed', strike: loseAll },
    { what: 'all members of etcd killed again', strike: loseAll },
  ]),
})

/** Two of three must be enough: the others lead on and write while it is gone. */
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

/** Wires that swallow everything and end no connection, which is the worst that a network does. */
export const partitions = (rounds: number): Fault => ({
  name: 'partitions',
  told:
    'wires that swallow everything for longer than a lease: each leader from etcd (not from the API and the cloud), ' +
    'each leader from the API, the API from etcd; the leading member of etcd and another from the other two (not from the clients)',
  strokes: repeated(rounds, [
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} cut from etcd`, strike: cutFromEtcd(service) })),
    { what: 'leading member of etcd cut from the others', strike: place => cutMember(place, true) },
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} cut from the API`, strike: cutFromApi(service) })),
    { what: 'another member of etcd cut from the others', strike: place => cutMember(place, false) },
    { what: 'API cut from etcd', strike: place => whileShut(place.wireToEtcd('api'), () => pastLease(place)) },
  ]),
})

/** Two of three must be enough, though the third still takes connections. */
async function cutMember(place: ChaosCluster, isLeading: boolean): Promise<void> {
  const { etcd, peers, cluster } = place
  const leader = await etcd.leader()
  const alone = isLeading ? leader : etcd.members.find(member => member !== leader)
  if (alone === undefined) return
  const id = await alone.id()
  await peers.cutOff(alone)
  try {
    const others = etcd.members.filter(member => member !== alone)
    await Promise.all([pastLease(place), untilSplit(alone, id, others)])
    for (const service of CONTROLLERS) await cluster.leaderOf(service)
  } finally {
    peers.mend()
  }
}

/** The one has no leader any more, and the others have one of themselves. */
const untilSplit = (alone: EtcdMember, id: bigint, others: readonly EtcdMember[]) =>
  eventually(`${alone.name} to be alone`, async () => {
    const led = await Promise.all([alone, ...others].map(member => member.leaderId().catch(() => 0n)))
    const [own, ...seen] = led
    return own === 0n && seen.every(leader => leader !== 0n && leader !== id) ? true : null
  })

/** What the cloud does not answer is not known, and nothing is done on it. */
export const cloudCuts = (rounds: number): Fault => ({
  name: 'cloud-cuts',
  told:
    'wires that swallow everything for longer than a lease: the leading worker-controller from EC2 and then from every CML, the ' +
    'leading lablet-controller from every CML',
  strokes: repeated(rounds, [
    { what: 'worker-controller cut from EC2', strike: place => cutFromCloud(place, 'worker-controller', 'wireToEc2') },
    { what: 'lablet-controller cut from CML', strike: place => cutFromCloud(place, 'lablet-controller', 'wireToCml') },
    { what: 'worker-controller cut from CML', strike: place => cutFromCloud(place, 'worker-controller', 'wireToCml') },
    { what: 'lablet-controller cut from CML', strike: place => cutFromCloud(place, 'lablet-controller', 'wireToCml') },
  ]),
})

async function cutFromCloud(place: ChaosCluster, service: ServiceName, way: 'wireToEc2' | 'wireToCml'): Promise<void> {
  // A controller that never used the connection, or has another one, would not notice the cut.
  const { name, url } = await eventually(`a ${service} that leads and uses its wire to the cloud`, async () => {
    const leader = await place.cluster.leaderOf(service)
    return place[way](leader.name).passed > 0 ? leader : null
  })
  await whileShut(place[way](name), async () => {
    await place.cluster.ask({ url }, 'POST /admin/trigger-reconcile')
    await pastLease(place)
  })
}

const cutFromEtcd =
  (service: ServiceName) =>
  async (place: ChaosCluster): Promise<void> => {
    const leader = await place.cluster.leaderOf(service)
    await whileShut(place.wireToEtcd(leader.name), async () => {
      await Promise.all([untilAnotherLeads(place.cluster.replicasOf(service), leader), pastLease(place)])
      if (await leads(leader)) throw new Error(`${leader.name} leads on without etcd`)
    })
  }

/** A leader that can't reach the API keeps or resigns its leadership, and changes nothing meanwhile. */
const cutFromApi =
  (service: ServiceName) =>
  async (place: ChaosCluster): Promise<void> => {
    const leader = await place.cluster.leaderOf(service)
    await whileShut(place.wireToApi(leader.name), () => pastLease(place))
  }

const pastLease = ({ leaseMs }: ChaosCluster) => systemClock.sleep(leaseMs + PAST_LEASE_MS)

async function whileShut(wire: Connection, work: () => Promise<unknown>): Promise<void> {
  wire.shut()
  try {
    await work()
  } finally {
    wire.open()
  }
}
