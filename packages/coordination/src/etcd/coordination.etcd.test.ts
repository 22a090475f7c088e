import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll } from 'vitest'
import { changeKeysConformance, electionConformance } from '../conformance.ts'
import { type EtcdAdmin, etcdAdmin } from '../testing/etcd-admin.ts'
import { type EtcdServer, startEtcd } from '../testing/etcd-server.ts'
import { type EtcdCoordination, etcdCoordination } from './coordination.ts'

const LEASE_TTL_MS = 2_000

let etcd: EtcdServer
let admin: EtcdAdmin

beforeAll(async () => {
  etcd = await startEtcd()
  admin = etcdAdmin(etcd.endpoints[0] ?? '')
})
afterAll(async () => {
  admin.close()
  await etcd.close()
})

async function open() {
  await admin.wipe()
  const clients: EtcdCoordination[] = []
  const connect = () => {
    const options = { endpoints: etcd.endpoints, clock: systemClock, logger: silentLogger, leaseTtlMs: LEASE_TTL_MS }
    const client = etcdCoordination({ ...options, liveness: { host: '127.0.0.1' } })
    clients.push(client)
    return client
  }
  const close = async () => {
    await Promise.all(clients.map(client => client.close()))
  }
  return { connect, clock: systemClock, advance: (ms: number) => systemClock.sleep(ms), close }
}

electionConformance('etcd', async () => {
  const { connect, ...bench } = await open()
  const contender = (instanceId: string) => connect().election('worker-controller', instanceId)
  return { ...bench, candidate: contender, leaseTtlMs: LEASE_TTL_MS }
})

changeKeysConformance('etcd', async () => {
  const { connect, ...bench } = await open()
  return {
    ...bench,
    connect: () => connect().changeKeys,
    async compact() {
      await admin.compact()
    },
  }
})
