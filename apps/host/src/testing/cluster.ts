import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/model'
import { startSimServer } from '@lcm/cloud-sim/server'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { type Exchange, recordingProxy } from './recording-proxy.ts'
import { REGIONS, type ServiceProcess, startProcess } from './service-process.ts'

/** Real processes of every service on a real etcd, with a recording proxy between each controller and the API. */
export interface Cluster {
  readonly client: Client
  readonly cloud: SimModel
  readonly history: readonly Exchange[]
  startController(name: string): Promise<ServiceProcess>
  restartApi(signal: NodeJS.Signals): Promise<void>
  close(): Promise<void>
}

export async function openCluster(options: {
  etcd: readonly string[]
  leaseTtlSeconds: number
  speed?: number
}): Promise<Cluster> {
  const clock = systemClock
  const folder = mkdtempSync(join(tmpdir(), 'lcm-cluster-'))
  const adminToken = randomBytes(16).toString('hex')
  writeFileSync(join(folder, 'admin'), adminToken)
  writeFileSync(join(folder, 'regions.yaml'), REGIONS)
  const cloud = openSimModel({ seed: 11, clock, speed: options.speed ?? 600 })
  const sim = await startSimServer({ model: cloud, clock, log: silentLogger })
  const processes = new Set<ServiceProcess>()
  const proxies = new Set<{ close(): void }>()
  const history: Exchange[] = []
  const shared = {
    ETCD_ENDPOINTS: options.etcd.join(','),
    LEADER_LEASE_TTL: String(options.leaseTtlSeconds),
    AWS_REGIONS_CONFIG_PATH: join(folder, 'regions.yaml'),
    LCM_LOG_LEVEL: 'info',
  }
  const start = async (name: string, args: readonly string[], env: Record<string, string>) => {
    const started = await startProcess(name, args, { ...shared, ...env })
    processes.add(started)
    return started
  }
  const apiEnv = {
    LCM_STORE: `sqlite:${join(folder, 'lcm.sqlite')}`,
    LCM_SECRET_KEY: randomBytes(32).toString('hex'),
    LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: join(folder, 'admin'),
    LCM_CLOUD: 'sim',
  }
  let api = await start('api', ['control-plane-api', '--port', '0'], apiEnv)
  const client = apiClient(request => httpTransport({ baseUrl: api.url, clock })(request), { token: adminToken })
  const token = await client.call('createToken', {
    body: { name: 'wc', role: 'controller', service: 'worker-controller' },
  })

  return {
    client,
    cloud,
    history,
    async startController(name) {
      const proxy = await recordingProxy({
        instance: name,
        target: api.url,
        clock,
        record: exchange => history.push(exchange),
      })
      proxies.add(proxy)
      return start(name, ['worker-controller', '--port', '0'], {
        CONTROL_PLANE_API_URL: proxy.url,
        LCM_SERVICE_TOKEN: token.secret,
        LCM_FLEET: 'cluster-test',
        WORKER_CONTROLLER_INSTANCE_ID: name,
        READY_PROBE_INTERVAL: '0.2',
        AWS_ENDPOINT_URL: sim.url,
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'simulated',
        AWS_SECRET_ACCESS_KEY: 'simulated',
        AWS_EC2_METADATA_DISABLED: 'true',
      })
    },
    async restartApi(signal) {
      const { port } = new URL(api.url)
      api.signal(signal)
      await api.exited
      api = await start('api', ['control-plane-api', '--port', port], apiEnv)
    },
    async close() {
      for (const each of processes) each.signal('SIGKILL')
      await Promise.all([...processes].map(each => each.exited))
      for (const proxy of proxies) proxy.close()
      await sim.close()
      cloud.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
