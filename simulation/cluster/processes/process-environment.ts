import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import type { ServiceName } from '@lcm/domain/actor'
import { REGIONS, type ServiceProcess, startProcess } from './service-process.ts'

/** Shared by the processes of one cluster: a folder, etcd and the first administrator. They end together. */
export interface ProcessEnvironment {
  readonly folder: string
  readonly adminToken: string
  /** Environment of an API. */
  readonly apiEnv: Readonly<Record<string, string>>
  readonly processes: readonly ServiceProcess[]
  /** Runs `lcm serve` with these arguments, with the command prefix `within` if one is given. */
  start(
    name: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    within?: readonly string[],
  ): Promise<ServiceProcess>
  /** Runs a controller on the simulated cloud, on a free port. */
  startController(name: string, controller: ControllerEnvironment): Promise<ServiceProcess>
  /** Internal errors of requests in all processes. There must be none. */
  defects(): readonly string[]
  /** kill -9 of every running process. */
  close(): Promise<void>
}

export interface ControllerEnvironment {
  readonly service: ServiceName
  readonly token: string
  /** URLs of the API and the cloud. */
  readonly api: string
  readonly cloud: string
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>
}

export function openProcessEnvironment(options: {
  etcd: readonly string[]
  /** Value of `LCM_STORE` for the folder. */
  store: (folder: string) => string
  leaseTtlSeconds?: number
}): ProcessEnvironment {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-cluster-'))
  const adminToken = randomBytes(16).toString('hex')
  writeFileSync(join(folder, 'admin'), adminToken)
  writeFileSync(join(folder, 'regions.yaml'), REGIONS)
  const ttl = options.leaseTtlSeconds
  const shared = {
    ETCD_ENDPOINTS: options.etcd.join(','),
    AWS_REGIONS_CONFIG_PATH: join(folder, 'regions.yaml'),
    LCM_LOG_LEVEL: 'info',
    ...(ttl === undefined ? {} : { LEADER_LEASE_TTL: String(ttl) }),
  }
  const apiEnv = {
    LCM_STORE: options.store(folder),
    LCM_SECRET_KEY: randomBytes(32).toString('hex'),
    LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: join(folder, 'admin'),
    LCM_CLOUD: 'sim',
  }
  const processes: ServiceProcess[] = []
  const start: ProcessEnvironment['start'] = async (name, args, env, within) => {
    const started = await startProcess(name, args, { ...shared, ...env }, within)
    processes.push(started)
    return started
  }
  return {
    folder,
    adminToken,
    apiEnv,
    processes,
    start,
    startController: (name, controller) =>
      start(name, [controller.service, '--port', '0'], controllerEnv(name, controller)),
    defects: () => processes.flatMap(each => each.log().match(/.*a request failed.*/g) ?? []),
    async close() {
      for (const each of processes) each.signal('SIGKILL')
      await Promise.all(processes.map(each => each.exited))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Environment of a controller. */
const controllerEnv = (
  name: string,
  { service, token, api, cloud, env }: ControllerEnvironment,
): Record<string, string> => ({
  CONTROL_PLANE_API_URL: api,
  LCM_SERVICE_TOKEN: token,
  LCM_FLEET: 'cluster-test',
  [`${service.toUpperCase().replaceAll('-', '_')}_INSTANCE_ID`]: name,
  READY_PROBE_INTERVAL: '0.2',
  CML_DEFAULT_PASSWORD: DEFAULT_CML_LOGIN.password,
  AWS_ENDPOINT_URL: cloud,
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'simulated',
  AWS_SECRET_ACCESS_KEY: 'simulated',
  AWS_EC2_METADATA_DISABLED: 'true',
  ...env,
})
