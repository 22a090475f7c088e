import { join } from 'node:path'
import type { Client } from '@lcm/client/client'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, openSessionCluster, type SessionCluster } from '../clusters/session-cluster.ts'
import { retryingClient } from '../load/retrying-client.ts'
import { type Exchange, recordingProxy } from '../processes/recording-proxy.ts'
import { type SingleApi, startSingleApi } from '../processes/single-api.ts'
import { clockFile, stepClock } from './clock-file.ts'
import { type Connection, startConnection, startConnectionToPort } from './cuttable-connections.ts'
import { type EtcdPeerConnections, openEtcdPeerConnections } from './etcd-peer-connections.ts'
import { preloadEnv } from './preload-env.ts'
import type { SmallDisk } from './small-disk.ts'

/**
 * Real processes: three members of etcd, one API on SQLite, two of each controller, a simulated cloud whose world is kept. Every
 * wire of the API and of a controller can be shut, and those between the members of etcd; so can the wall clocks of the API and of
 * the controllers be set wrong. The clocks of etcd and of the cloud are those of the machine.
 */
export interface ChaosCluster {
  readonly etcd: EtcdServer
  readonly api: SingleApi
  readonly cluster: SessionCluster
  /** The administrator, who asks again where nobody answers. */
  readonly client: Client
  readonly leaseMs: number
  /** Where the API keeps its documents, if that can be filled. */
  readonly disk: SmallDisk | null
  /** By the name of a process. */
  wireToEtcd(name: string): Connection
  wireToApi(name: string): Connection
  /** Of a controller: to the API of EC2, and to every CML. */
  wireToEc2(name: string): Connection
  wireToCml(name: string): Connection
  /** Between the members of etcd. */
  readonly peers: EtcdPeerConnections
  stepClock(name: string, wrongByMs: number): void
  /** What each service said to the API. */
  readonly histories: ReadonlyMap<ServiceName, Exchange[]>
  /** What went wrong inside a request, in any process. There must be nothing. */
  defects(): readonly string[]
  close(): Promise<void>
}

const CML_PORT = 8443
/** EC2 forgets a terminated machine after an hour of its time, and that must be longer than anything is down. */
const CLOUD_SPEED = 200

export async function openChaosCluster(options: {
  leaseTtlSeconds: number
  disk?: SmallDisk | null
}): Promise<ChaosCluster> {
  const { leaseTtlSeconds, disk = null } = options
  const peers = openEtcdPeerConnections()
  const etcd = await startEtcd({ members: 3, peerWay: peers.way })
  const wires: Record<'etcd' | 'api' | 'ec2' | 'cml', Map<string, Connection>> = {
    etcd: new Map([['api', await startConnection(etcd.endpoints)]]),
    ...{ api: new Map(), ec2: new Map(), cml: new Map() },
  }
  const closing: (() => unknown)[] = []
  const histories = new Map<ServiceName, Exchange[]>(CONTROLLERS.map(service => [service, []]))
  const api = await startSingleApi({
    etcd: wireOf(wires.etcd, 'api').endpoints,
    leaseTtlSeconds,
    env: folder => ({
      ...preloadEnv({ 'stepped-clock.mjs': { file: clockFile(folder, 'api') } }),
      ...(disk === null ? {} : { LCM_STORE: disk.store }),
    }),
    ...(disk === null ? {} : { within: disk.within }),
  })
  const { household } = api

  async function wire(name: string, service: ServiceName, cloud: string) {
    const record = (exchange: Exchange) => histories.get(service)?.push(exchange)
    const proxy = await recordingProxy({ instance: name, target: api.url, clock: systemClock, record })
    closing.push(() => proxy.close())
    const own = {
      etcd: await startConnection(etcd.endpoints),
      api: await startConnection([new URL(proxy.url).host]),
      ec2: await startConnection([new URL(cloud).host]),
      cml: await startConnectionToPort(CML_PORT),
    }
    for (const to of ['etcd', 'api', 'ec2', 'cml'] as const) wires[to].set(name, own[to])
    const preloads = preloadEnv({
      'stepped-clock.mjs': { file: clockFile(household.folder, name) },
      'rerouted-cml.mjs': { port: own.cml.endpoints[0]?.split(':')[1] ?? '' },
    })
    const env = { ETCD_ENDPOINTS: own.etcd.endpoints.join(','), ...preloads }
    return { api: `http://${own.api.endpoints[0]}`, cloud: `http://${own.ec2.endpoints[0]}`, env }
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
    wireToEc2: name => wireOf(wires.ec2, name),
    wireToCml: name => wireOf(wires.cml, name),
    peers,
    stepClock: (name, wrongByMs) => stepClock(household.folder, name, wrongByMs),
    histories,
    defects: household.defects,
    async close() {
      await cluster.close()
      await household.close()
      for (const close of closing) close()
      for (const each of Object.values(wires).flatMap(all => [...all.values()])) each.close()
      await etcd.close()
      peers.close()
    },
  }
}

function wireOf(wires: ReadonlyMap<string, Connection>, name: string): Connection {
  const wire = wires.get(name)
  if (wire === undefined) throw new Error(`there is no wire of ${name}`)
  return wire
}
