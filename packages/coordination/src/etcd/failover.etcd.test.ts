import { systemClock } from '@lcm/runtime/clock'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type EtcdAdmin, etcdAdmin } from '../testing/etcd-admin.ts'
import { type EtcdServer, startEtcd } from '../testing/etcd-server.ts'
import { eventually } from '../testing/eventually.ts'
import { type ContenderProcess, spawnContender } from '../testing/spawn-candidate.ts'
import { type Contender, testClients } from '../testing/test-clients.ts'

let etcd: EtcdServer
let admin: EtcdAdmin
let clients: ReturnType<typeof testClients>
const processes: ContenderProcess[] = []

beforeAll(async () => {
  etcd = await startEtcd()
  admin = etcdAdmin(etcd.endpoints[0] ?? '')
})
afterAll(async () => {
  admin.close()
  await etcd.close()
})
beforeEach(async () => {
  await admin.wipe()
  clients = testClients(() => etcd.endpoints, { liveness: { host: '127.0.0.1' } })
})
afterEach(async () => {
  await Promise.all(processes.splice(0).map(process => process.end()))
  await clients.close()
})

async function spawn(instanceId: string, leaseTtlMs: number): Promise<ContenderProcess> {
  const process = await spawnContender({ endpoint: etcd.endpoints[0] ?? '', instanceId, leaseTtlMs })
  processes.push(process)
  return process
}

const contend = (instanceId: string, leaseTtlMs: number) =>
  clients.contend(instanceId, 'worker-controller', clients.connect({ leaseTtlMs }))

const watched = ({ client }: Contender) =>
  eventually('the leader being watched', () =>
    client.logger.messages('debug').includes("watching the leader's process"),
  )

it('takes over from a killed process long before its 15 s lease ends', async () => {
  const killed = await spawn('a', 15_000)
  const { epoch } = await killed.newest('leading')
  const b = contend('b', 15_000)
  await watched(b)
  killed.signal('SIGKILL')
  const { leadership, tookMs } = await b.leads()
  expect(tookMs).toBeLessThan(7_000)
  expect(leadership.epoch).toBeGreaterThan(epoch ?? 0)
  expect(b.client.logger.messages('warn')).toContain("the leader's process has exited; revoking its lease")
})

it('takes over from its own previous process at once, since it has the same name on the same machine', async () => {
  const killed = await spawn('a', 15_000)
  await killed.newest('leading')
  await killed.end()
  const again = contend('a', 15_000)
  expect((await again.leads()).tookMs).toBeLessThan(7_000)
})

it('waits for the lease of a process that it never saw alive: a refusing address may belong to another machine', async () => {
  const killed = await spawn('a', 2_000)
  await killed.newest('leading')
  await killed.end()
  const b = contend('b', 2_000)
  expect((await b.leads()).tookMs).toBeGreaterThan(1_000)
  expect(b.client.logger.messages('warn')).toEqual([])
})

it('lets a frozen process keep its lease to the end, and stop acting when it thaws', async () => {
  const frozen = await spawn('a', 2_000)
  await frozen.newest('acted')
  const b = contend('b', 2_000)
  await watched(b)
  frozen.signal('SIGSTOP')
  expect((await b.leads()).tookMs).toBeGreaterThan(1_000)
  const ledAtMs = systemClock.now()
  await systemClock.sleep(200)
  frozen.signal('SIGCONT')
  await frozen.newest('lost')
  expect(frozen.deeds.filter(deed => deed.event === 'acted' && deed.atMs > ledAtMs)).toEqual([])
  expect(b.leadership?.isHeld()).toBe(true)
})
