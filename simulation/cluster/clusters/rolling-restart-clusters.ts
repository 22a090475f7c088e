import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { startBalancer } from '../processes/balancer.ts'
import { startSingleApi } from '../processes/single-api.ts'
import type { RestartableApi, RollingCluster } from '../rolling-restart.ts'
import { openReplicas, type Replica } from './api-replicas.ts'
import { openControllerCluster } from './controller-cluster.ts'

export interface OpenRollingCluster extends RollingCluster {
  /** Internal errors of requests in all processes. There must be none. */
  defects(): readonly string[]
  close(): Promise<void>
}

/** One API on SQLite with two of each controller. */
export async function onSqlite(options: { leaseTtlSeconds: number }): Promise<OpenRollingCluster> {
  const etcd = await startEtcd()
  const api = await startSingleApi({ etcd: etcd.endpoints, ...options })
  const { environment } = api
  const cluster = await openControllerCluster(environment, api.url)
  return {
    cluster,
    apis: [api],
    adminToken: environment.adminToken,
    defects: environment.defects,
    async close() {
      await cluster.close()
      await environment.close()
      await etcd.close()
    },
  }
}

/** Two APIs on a server with the MongoDB protocol, and two of each controller behind a balancer. */
export async function onMongo(): Promise<OpenRollingCluster> {
  const replicas = await openReplicas()
  const balancer = await startBalancer(replicas.both.map(({ url }) => url))
  const cluster = await openControllerCluster(replicas.environment, balancer.url)
  return {
    cluster,
    apis: replicas.both.map(restartable),
    adminToken: replicas.environment.adminToken,
    defects: replicas.environment.defects,
    async close() {
      await cluster.close()
      balancer.close()
      await replicas.close()
    },
  }
}

const restartable = ({ url, client, end, restart }: Replica): RestartableApi => ({
  url,
  client,
  async restart(signal) {
    const code = await end(signal)
    await restart()
    return code
  },
})
