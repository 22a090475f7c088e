import { randomInt } from 'node:crypto'
import type { Client } from '@lcm/client/client'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/sim-model'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { type Exchange, recordingProxy } from '../processes/api-recording-proxy.ts'
import type { ServiceProcess } from '../processes/service-process.ts'
import { startSingleApi } from '../processes/single-api.ts'

/** Real processes of the API and the worker-controller on a real etcd, with a recording proxy between each and the API. */
export interface WorkerCluster {
  readonly client: Client
  readonly cloud: SimModel
  readonly history: readonly Exchange[]
  startController(name: string): Promise<ServiceProcess>
  restartApi(signal: NodeJS.Signals): Promise<unknown>
  close(): Promise<void>
}

export async function openWorkerCluster(options: {
  etcd: readonly string[]
  leaseTtlSeconds: number
  speed?: number
}): Promise<WorkerCluster> {
  const clock = systemClock
  // Equal seeds would use equal addresses.
  const cloud = openSimModel({ seed: randomInt(2 ** 32), clock, speed: options.speed ?? 600 })
  const sim = await startSimServer({ model: cloud, clock, log: silentLogger })
  const proxies = new Set<{ close(): void }>()
  const history: Exchange[] = []
  const { environment, url, client, restart } = await startSingleApi(options)
  const service = 'worker-controller'
  const { secret: token } = await client.call('createToken', { body: { name: 'wc', role: 'controller', service } })

  return {
    client,
    cloud,
    history,
    async startController(name) {
      const proxy = await recordingProxy({
        instance: name,
        target: url,
        clock,
        record: exchange => history.push(exchange),
      })
      proxies.add(proxy)
      return environment.startController(name, { service, token, api: proxy.url, cloud: sim.url })
    },
    restartApi: restart,
    async close() {
      await environment.close()
      for (const proxy of proxies) proxy.close()
      await sim.close()
      cloud.close()
    },
  }
}
