import { join } from 'node:path'
import type { Client } from '@lcm/client/client'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { type OneApi, startOneApi } from '../one-api.ts'
import { type Exchange, recordingProxy } from '../recording-proxy.ts'
import { retryingClient } from '../retrying-client.ts'
import { CONTROLLERS, openSessionCluster, type SessionCluster } from '../session-cluster.ts'
import { stepClock, steppedClockEnv } from './clocks.ts'
import type { SmallDisk } from './small-disk.ts'
import { startWire, type Wire } from './wires.ts'

/**
 * Real processes: three members of etcd, one API on SQLite, two of each controller, a simulated cloud whose world is kept. Every
 * wire between them can be shut, every clock can be set wrong.
 */
export interface ChaosPlace {
  readonly etcd: EtcdServer
  readonly api: OneApi
  readonly cluster: SessionCluster
  /** The administrator, who asks again where nobody answers. */
  readonly client: Client
  readonly leaseMs: number
  /** Where the API keeps its documents, if that can be filled. */
  readonly disk: SmallDisk | null
  /** By the name of a process. */
  wireToEtcd(name: string): Wire
  wireToApi(name: string): Wire
  stepClock(name: string, wrongByMs: number): void
  /** What each service said to the API. */
  readonly histories: ReadonlyMap<ServiceName, Exchange[]>
  /** What went wrong inside a request, in any process. There must be nothing. */
  defects(): readonly string[]
  close(): Promise<void>
}

/** EC2 forgets a terminated machine after an hour of its time, and that must be longer than anything is down. */
const CLOUD_SPEED = 200

export async function openChaosPlace(options: {
  leaseTtlSeconds: number
  disk?: SmallDisk | null
}): Promise<ChaosPlace> {
  const { leaseTtlSeconds, disk = null } = options
  const etcd = await startEtcd({ members: 3 })
  const wires = { etcd: new Map([['api', await startWire(etcd.endpoints)]]), api: new Map<string, Wire>() }
  const closing: (() => unknown)[] = []
  const histories = new Map<ServiceName, Exchange[]>(CONTROLLERS.map(service => [service, []]))
  const api = await startOneApi({
    etcd: wireOf(wires.etcd, 'api').endpoints,
    leaseTtlSeconds,
    env: folder => ({ ...steppedClockEnv(folder, 'api'), ...(disk === null ? {} : { LCM_STORE: disk.store }) }),
    ...(disk === null ? {} : { within: disk.within }),
  })
  const { household } = api

  async function wire(name: string, service: ServiceName) {
    const record = (exchange: Exchange) => histories.get(service)?.push(exchange)
    const proxy = await recordingProxy({ instance: name, target: api.url, clock: systemClock, record })
    closing.push(() => proxy.close())
    const [toEtcd, toApi] = [await startWire(etcd.endpoints), await startWire([new URL(proxy.url).host])]
    wires.etcd.set(name, toEtcd)
    wires.api.set(name, toApi)
    const env = { ETCD_ENDPOINTS: toEtcd.endpoints.join(','), ...steppedClockEnv(household.folder, name) }
    return { api: `http://${toApi.endpoints[0]}`, env }
  }
  const cloudFolder = join(household.folder, 'cloud')
  const cluster = await openSessionCluster(household, api.url, { cloudFolder, speed: CLOUD_SPEED, wire })
  return {
    etcd,
    api,
    cluster,
    client: retryingClient([api.url], household.adminToken),
    leaseMs: leaseTtlSeconds * 1_000,
    disk,
    wireToEtcd: name => wireOf(wires.etcd, name),
    wireToApi: name => wireOf(wires.api, name),
    stepClock: (name, wrongByMs) => stepClock(household.folder, name, wrongByMs),
    histories,
    defects: household.defects,
    async close() {
      await cluster.close()
      await household.close()
      for (const close of closing) close()
      for (const each of [...wires.etcd.values(), ...wires.api.values()]) each.close()
      await etcd.close()
    },
  }
}

function wireOf(wires: ReadonlyMap<string, Wire>, name: string): Wire {
  const wire = wires.get(name)
  if (wire === undefined) throw new Error(`there is no wire of ${name}`)
  return wire
}
