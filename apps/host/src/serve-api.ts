import { randomBytes } from 'node:crypto'
import { type ControlPlane, controlPlane } from '@lcm/control-plane-api/control-plane'
import type { EtcdCoordination } from '@lcm/coordination/etcd'
import { host, type Logger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { pinoLogger } from '@lcm/service/pino-logger'
import { promMeter } from '@lcm/service/prom-meter'
import type { Store } from '@lcm/store/store'
import { assetFolder } from './assets.ts'
import { closingAfter } from './closing.ts'
import { type ApiEnvironment, readNamedFile } from './environment.ts'
import { listen, openStore } from './listening.ts'
import { holdLock } from './lock.ts'
import { readRegionFile } from './region-file.ts'
import { etcdProblems, openEtcd } from './serving.ts'
import { readTemplateFiles } from './template-files.ts'
import type { Io } from './up.ts'
import { VERSION } from './version.ts'

/** The control plane as a process of its own, on SQLite and etcd. */
export function serveApi(env: ApiEnvironment, at: { host: string; port: number }, io: Io): Promise<void> {
  const log = pinoLogger({ level: env.LCM_LOG_LEVEL, to: 'stdout' })
  return closingAfter(async onClose => {
    onClose(holdLock(`${env.LCM_STORE}.lock`, env.LCM_STORE))
    const store = openStore(env.LCM_STORE)
    onClose(() => store.close())
    const coordination = openEtcd(env, log)
    onClose(() => coordination.close())
    const plane = openPlane({ env, log, store, coordination })
    const adminToken = readNamedFile('LCM_BOOTSTRAP_ADMIN_TOKEN_FILE', env.LCM_BOOTSTRAP_ADMIN_TOKEN_FILE)
    plane.access.grant(adminToken, { name: 'admin', role: 'admin', service: null })
    await plane.seed(readTemplateFiles(assetFolder('deploy', 'templates'), log))
    const server = await listen(plane, { ...at, publicHosts: env.LCM_PUBLIC_HOSTS })
    onClose(() => server.close())
    io.out(`control-plane-api listens on ${server.url}`)
    await host([plane.announcer], io.signal, { logger: log })
  })
}

interface PlaneParts {
  readonly env: ApiEnvironment
  readonly log: Logger
  readonly store: Store
  readonly coordination: EtcdCoordination
}

function openPlane({ env, log, store, coordination }: PlaneParts): ControlPlane {
  const meter = promMeter()
  const [first = '', ...others] = Object.keys(readRegionFile(env.AWS_REGIONS_CONFIG_PATH))
  return controlPlane({
    store,
    log,
    clock: systemClock,
    randomBytes,
    secretKey: Buffer.from(env.LCM_SECRET_KEY, 'hex'),
    changeKeys: coordination.changeKeys,
    config: { version: VERSION, profile: 'cluster', cloud: env.LCM_CLOUD, regions: [first, ...others] },
    process: {
      health() {
        const problems = etcdProblems(coordination)
        return { status: problems.length === 0 ? 'healthy' : 'degraded', problems }
      },
      ready: () => true,
      metrics: () => meter.text(),
    },
  })
}
