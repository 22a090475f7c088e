import { join } from 'node:path'
import type { Client } from '@lcm/client/client'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS, type ControllerCluster, openControllerCluster } from '../clusters/controller-cluster.ts'
import { retryingClient } from '../load/retrying-client.ts'
import { type Exchange, recordingProxy } from '../processes/api-recording-proxy.ts'
import { type SingleApi, startSingleApi } from '../processes/single-api.ts'
import { clockFile, stepClock } from './clock-file.ts'
import { type Connection, startConnection, startConnectionToPort } from './cuttable-connections.ts'
import { type EtcdPeerConnections, openEtcdPeerConnections } from './etcd-peer-connections.ts'
import { preloadEnv } from './node-preload-options.ts'
import type { SmallDisk } from './small-disk.ts'

/**
 * Real processes: three members of etcd, one API on SQLite, two of each controller, a simulated cloud with stored state. Every
 * connection of the API, of a controller and between members of etcd can be cut, and the wall clocks of the API and of the
 * controllers can be set wrong. The clocks of etcd and of the cloud stay right.
 */
export interface ChaosCluster {
  readonly etcd: EtcdServer
  readonly api: SingleApi
  readonly cluster: ControllerCluster
  /** An administrator that retries when the API does not respond. */
  readonly client: Client
  readonly leaseMs: number
  /** Disk of the store; null when it is not a small one. */
  readonly disk: SmallDisk | null
  /** Connections by the name of the process. */
  connectionToEtcd(name: string): Connection
  connectionToApi(name: string): Connection
  /** Connections of a controller to EC2 and to every CML. */
  connectionToEc2(name: string): Connection
  connectionToCml(name: string): Connection
  /** Between the members of etcd. */
  readonly peers: EtcdPeerConnections
  stepClock(name: string, wrongByMs: number): void
  /** Requests of each service to the API. */
  readonly histories: ReadonlyMap<ServiceName, Exchange[]>
  /** Internal errors of requests in all processes. There must be none. */
  defects(): readonly string[]
  close(): Promise<void>
}

const CML_PORT = 8443
/** EC2 drops a terminated machine after a simulated hour, which must be longer than any outage. */
const CLOUD_SPEED = 200

export async function openChaosCluster(options: {
  leaseTtlSeconds: number
  disk?: SmallDisk | null
}): Promise<ChaosCluster> {
  const { leaseTtlSeconds, disk = null } = options
  const peers = openEtcdPeerConnections()
  const etcd = await startEtcd({ members: 3, peerWay: peers.addressOf })
  const connections: Record<'etcd' | 'api' | 'ec2' | 'cml', Map<string, Connection>> = {
    etcd: new Map([['api', await startConnection(etcd.endpoints)]]),
    ...{ api: new Map(), ec2: new Map(), cml: new Map() },
  }
  const closing: (() => unknown)[] = []
  const histories = new Map<ServiceName, Exchange[]>(CONTROLLERS.map(service => [service, []]))
  const api = await startSingleApi({
    etcd: connectionOf(connections.etcd, 'api').endpoints,
    leaseTtlSeconds,
    env: folder => ({
      ...preloadEnv({ 'clock-step-preload.mjs': { file: clockFile(folder, 'api') } }),
      ...(disk === null ? {} : { LCM_STORE: disk.store }),
    }),
    ...(disk === null ? {} : { within: disk.within }),
  })
  const { environment } = api

  async function connect(name: string, service: ServiceName, cloud: string) {
    const record = (exchange: Exchange) => histories.get(service)?.push(exchange)
    const proxy = await recordingProxy({ instance: name, target: api.url, clock: systemClock, record })
    closing.push(() => proxy.close())
    const own = {
      etcd: await startConnection(etcd.endpoints),
      api: await startConnection([new URL(proxy.url).host]),
      ec2: await startConnection([new URL(cloud).host]),
      cml: await startConnectionToPort(CML_PORT),
    }
    for (const to of ['etcd', 'api', 'ec2', 'cml'] as const) connections[to].set(name, own[to])
    const preloads = preloadEnv({
      'clock-step-preload.mjs': { file: clockFile(environment.folder, name) },
      'cml-reroute-preload.mjs': { port: own.cml.endpoints[0]?.split(':')[1] ?? '' },
    })
    const env = { ETCD_ENDPOINTS: own.etcd.endpoints.join(','), ...preloads }
    return { api: `http://${own.api.endpoints[0]}`, cloud: `http://${own.ec2.endpoints[0]}`, env }
  }
  const cloudFolder = join(environment.folder, 'cloud')
  const cluster = await openControllerCluster(environment, api.url, {
    cloudFolder,
    speed: CLOUD_SPEED,
    configure: connect,
  })
  return {
    etcd,
    api,
    cluster,
    client: retryingClient([api.url], environment.adminToken),
    leaseMs: leaseTtlSeconds * 1_000,
    disk,
    connectionToEtcd: name => connectionOf(connections.etcd, name),
    connectionToApi: name => connectionOf(connections.api, name),
    connectionToEc2: name => connectionOf(connections.ec2, name),
    connectionToCml: name => connectionOf(connections.cml, name),
    peers,
    stepClock: (name, wrongByMs) => stepClock(environment.folder, name, wrongByMs),
    histories,
    defects: environment.defects,
    async close() {
      await cluster.close()
      await environment.close()
      for (const close of closing) close()
      for (const each of Object.values(connections).flatMap(all => [...all.values()])) each.close()
      await etcd.close()
      peers.close()
    },
  }
}

function connectionOf(connections: ReadonlyMap<string, Connection>, name: string): Connection {
  const connection = connections.get(name)
  if (connection === undefined) throw new Error(`${name} has no such connection`)
  return connection
}
