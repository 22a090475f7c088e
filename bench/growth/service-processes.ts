import { fork } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { awsCompute } from '@lcm/cloud-aws/ec2/compute'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { systemClock } from '@lcm/runtime/clock'
import { scratchFolder } from '../api/server-processes.ts'
import type { ServedSim } from '../cloud/sim-server.ts'
import { recordFleet } from '../controller/write-settled-fleet-store.ts'
import { type LcmProcess, startService } from '../product/lcm-process.ts'
import { type CountingProxy, countingProxy } from './counting-proxy.ts'

export const CONTROLLERS = ['worker-controller', 'resource-scheduler', 'lablet-controller'] as const
type Controller = (typeof CONTROLLERS)[number]

export interface Services {
  readonly client: Client
  readonly api: LcmProcess
  readonly controllers: readonly {
    readonly name: Controller
    readonly process: LcmProcess
    readonly proxy: CountingProxy
  }[]
  /** Requests as the administrator on the service's own port. */
  ask(process: LcmProcess, path: string): Promise<Response>
  storeBytes(): number
  close(): Promise<void>
}

const FLEET = 'bench'
const CREDENTIALS = { accessKeyId: 'bench', secretAccessKey: 'bench' }
const ADMIN_TOKEN = 'the-administrator-of-the-bench'
const REGIONS = 'aws_region_configs:\n  us-east-1: { subnets: [subnet-use1a] }\n'

/** Every service as a separate process with settled workers, a real etcd and a simulated EC2. */
export async function openServices(workers: number): Promise<Services> {
  const folder = scratchFolder()
  const store = join(folder, 'lcm.sqlite')
  const simulator = fork(fileURLToPath(new URL('../cloud/sim-server.ts', import.meta.url)), [String(workers), 'cml'])
  const [cloud] = (await once(simulator, 'message')) as [ServedSim]
  await recordFleet(store, cloud, await machinesIn(cloud))
  writeFileSync(join(folder, 'admin'), ADMIN_TOKEN)
  writeFileSync(join(folder, 'regions.yaml'), REGIONS)
  const etcd = await startEtcd()
  const shared = {
    ETCD_ENDPOINTS: etcd.endpoints.join(','),
    AWS_REGIONS_CONFIG_PATH: join(folder, 'regions.yaml'),
    LCM_LOG_LEVEL: 'info',
    LCM_METRICS_PUBLIC: 'true',
  }
  const api = await startService(['control-plane-api', '--port', '0'], {
    ...shared,
    LCM_STORE: `sqlite:${store}`,
    LCM_SECRET_KEY: '5c'.repeat(32),
    LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: join(folder, 'admin'),
    LCM_CLOUD: 'sim',
    // A leader checks every worker at its start and then every five minutes, so not in the measured minute.
    IDLE_DETECTION_ENABLED: 'false',
  })
  const client = apiClient(httpTransport({ baseUrl: api.url, clock: systemClock }), { token: ADMIN_TOKEN })
  const startController = async (service: Controller) => {
    const { secret } = await client.call('createToken', { body: { name: service, role: 'controller', service } })
    const proxy = await countingProxy(api.url)
    const env = { ...shared, ...controllerEnv(cloud.url), CONTROL_PLANE_API_URL: proxy.url, LCM_SERVICE_TOKEN: secret }
    return { name: service, proxy, process: await startService([service, '--port', '0'], env) }
  }
  const controllers = await Promise.all(CONTROLLERS.map(startController))
  return {
    client,
    api,
    controllers,
    ask: ({ url }, path) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }),
    storeBytes: () => [store, `${store}-wal`].reduce((sum, file) => sum + (statSync(file).size ?? 0), 0),
    async close() {
      await Promise.all(controllers.map(({ process }) => process.stop()))
      await api.stop()
      for (const { proxy } of controllers) proxy.close()
      simulator.disconnect()
      await etcd.close()
    },
  }
}

async function machinesIn({ url, region }: ServedSim) {
  const compute = awsCompute({ clock: systemClock, endpoint: url, credentials: CREDENTIALS })
  const machines = await compute.list(region, { tags: { 'lcm:fleet': FLEET } }, new AbortController().signal)
  compute.close()
  return machines
}

const controllerEnv = (cloud: string): Record<string, string> => ({
  LCM_FLEET: FLEET,
  CML_DEFAULT_PASSWORD: DEFAULT_CML_LOGIN.password,
  AWS_ENDPOINT_URL: cloud,
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  AWS_EC2_METADATA_DISABLED: 'true',
})
