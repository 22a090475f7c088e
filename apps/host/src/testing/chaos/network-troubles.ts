import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, leads } from '../session-cluster.ts'
import type { ChaosPlace } from './place.ts'
import { PAST_LEASE_MS, repeated, untilAnotherLeads } from './process-troubles.ts'
import type { Trouble } from './under-load.ts'
import type { Wire } from './wires.ts'

/** How long etcd goes without a member, and without all. */
const DOWN_MS = 3_000

export const memberLosses = (rounds: number): Trouble => ({
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
async function loseMember({ etcd, cluster }: ChaosPlace, isLeading: boolean): Promise<void> {
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

async function loseAll({ etcd }: ChaosPlace): Promise<void> {
  await Promise.all(etcd.members.map(member => member.kill()))
  await systemClock.sleep(DOWN_MS)
  await Promise.all(etcd.members.map(member => member.restart()))
}

/** Wires that swallow everything and end no connection, which is the worst that a network does. */
export const partitions = (rounds: number): Trouble => ({
  name: 'partitions',
  told:
    'wires that swallow everything for longer than a lease: each leader from etcd (not from the API and the cloud), ' +
    'each leader from the API, the API from etcd',
  strokes: repeated(rounds, [
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} cut from etcd`, strike: cutFromEtcd(service) })),
    ...CONTROLLERS.map(service => ({ what: `leader of ${service} cut from the API`, strike: cutFromApi(service) })),
    { what: 'API cut from etcd', strike: place => whileShut(place.wireToEtcd('api'), () => pastLease(place)) },
  ]),
})

const cutFromEtcd =
  (service: ServiceName) =>
  async (place: ChaosPlace): Promise<void> => {
    const leader = await place.cluster.leaderOf(service)
    await whileShut(place.wireToEtcd(leader.name), async () => {
      await Promise.all([untilAnotherLeads(place.cluster.replicasOf(service), leader), pastLease(place)])
      if (await leads(leader)) throw new Error(`${leader.name} leads on without etcd`)
    })
  }

/** Whoever can not reach the API keeps its seat or gives it up, but does nothing meanwhile. */
const cutFromApi =
  (service: ServiceName) =>
  async (place: ChaosPlace): Promise<void> => {
    const leader = await place.cluster.leaderOf(service)
    await whileShut(place.wireToApi(leader.name), () => pastLease(place))
  }

const pastLease = ({ leaseMs }: ChaosPlace) => systemClock.sleep(leaseMs + PAST_LEASE_MS)

async function whileShut(wire: Wire, work: () => Promise<unknown>): Promise<void> {
  wire.shut()
  try {
    await work()
  } finally {
    wire.open()
  }
}
