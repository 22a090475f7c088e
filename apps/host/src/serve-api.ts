import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { type ControlPlane, controlPlane } from '@lcm/control-plane-api/control-plane'
import type { EtcdCoordination } from '@lcm/coordination/etcd'
import type { GivenSettings } from '@lcm/domain/fleet/settings'
import { host, type Logger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { pinoLogger } from '@lcm/service/pino-logger'
import { promMeter } from '@lcm/service/prom-meter'
import type { Store } from '@lcm/store/store'
import { assetFolder } from './assets.ts'
import { backupsOf } from './backup.ts'
import { closingAfter } from './closing.ts'
import { type ApiEnvironment, bootstrapToken, oidcOf, webhookOf } from './environment.ts'
import { listen, openSharedStore, openStore } from './listening.ts'
import { holdLock } from './lock.ts'
import { readRegionFile, regionsFrom } from './region-file.ts'
import { holdRestoredFleet, refuseUnfinishedRestore } from './restored.ts'
import { etcdProblems, openEtcd } from './serving.ts'
import { readTemplateFiles } from './template-files.ts'
import type { Io } from './up.ts'
import { VERSION } from './version.ts'

/** The control plane as a process of its own, with etcd: one on SQLite, or several on MongoDB. */
export function serveApi(
  env: ApiEnvironment,
  settings: GivenSettings,
  at: { host: string; port: number },
  io: Io,
): Promise<void> {
  const log = pinoLogger({ level: env.LCM_LOG_LEVEL, to: 'stdout' })
  return closingAfter(async onClose => {
    const store = await openConfiguredStore(env.LCM_STORE, onClose)
    const coordination = openEtcd(env, log)
    onClose(() => coordination.close())
    const plane = openPlane({ env, settings, log, store, coordination, ending: io.signal })
    const file = sqliteFile(env.LCM_STORE)
    if (file !== null) await holdRestoredFleet(dirname(file), plane)
    const adminToken = bootstrapToken(env)
    if (adminToken !== null)
      plane.access.grant(adminToken, { id: 'admin', name: 'admin', role: 'admin', service: null })
    await plane.seed(readTemplateFiles(assetFolder('deploy', 'templates'), log))
    const server = await listen(plane, { ...at, publicHosts: [...env.LCM_PUBLIC_HOSTS, ...hostOf(env)] })
    onClose(() => server.close())
    io.out(`control-plane-api listens on ${server.url}`)
    await host([...plane.services], io.signal, { logger: log })
  })
}

/** One process may use an SQLite file; any number may share a MongoDB. */
async function openConfiguredStore(given: string, onClose: (close: () => unknown) => void): Promise<Store> {
  const file = sqliteFile(given)
  if (file !== null) {
    refuseUnfinishedRestore(dirname(file))
    onClose(holdLock(`${file}.lock`, file))
  }
  const store = file === null ? await openSharedStore(given) : openStore(file)
  onClose(() => store.close())
  return store
}

const sqliteFile = (given: string): string | null => /^sqlite:(.+)$/.exec(given)?.[1] ?? null

const hostOf = ({ LCM_PUBLIC_URL: url }: ApiEnvironment): string[] => (url === undefined ? [] : [new URL(url).hostname])

interface PlaneParts {
  readonly env: ApiEnvironment
  readonly settings: GivenSettings
  readonly log: Logger
  readonly store: Store
  readonly coordination: EtcdCoordination
  /** Aborts when the process was asked to end. */
  readonly ending: AbortSignal
}

function openPlane({ env, settings, log, store, coordination, ending }: PlaneParts): ControlPlane {
  const meter = promMeter()
  const regions = regionsFrom(env.AWS_REGION, readRegionFile(env.AWS_REGIONS_CONFIG_PATH))
  const secretKey = Buffer.from(env.LCM_SECRET_KEY, 'hex')
  return controlPlane({
    ...backupOf({ env, log, store, secretKey }),
    ...webhookOf(env, ['/lcm', ...hostOf(env)].join('/')),
    store,
    log,
    clock: systemClock,
    randomBytes,
    secretKey,
    changeKeys: coordination.changeKeys,
    oidc: oidcOf(env),
    publicUrl: env.LCM_PUBLIC_URL ?? null,
    metricsPublic: env.LCM_METRICS_PUBLIC,
    config: { version: VERSION, profile: 'cluster', cloud: env.LCM_CLOUD, regions, settings },
    process: {
      health() {
        const problems = etcdProblems(coordination)
        return { status: problems.length === 0 ? 'healthy' : 'degraded', problems }
      },
      ready: () => !ending.aborted,
      metrics: () => meter.text(),
    },
  })
}

/** The fleet is named by its worker-controllers; they and the cloud stay where they are. */
function backupOf({ env, log, store, secretKey }: Pick<PlaneParts, 'env' | 'log' | 'store'> & { secretKey: Buffer }) {
  const storeFile = sqliteFile(env.LCM_STORE)
  if (storeFile === null) return {}
  const cloud = env.LCM_CLOUD
  const backup = backupsOf({
    store,
    storeFile,
    secretKey,
    fleetId: null,
    cloud,
    copyCloud: null,
    clock: systemClock,
    log,
  })
  return backup === null ? {} : { backup }
}
