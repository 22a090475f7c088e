import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { trustedProxies } from '@lcm/control-plane/access/client-address'
import { type ControlPlane, controlPlane } from '@lcm/control-plane/control-plane'
import { type ReadinessGate, readinessGate } from '@lcm/control-plane/http/readiness-gate'
import { givenKeys, type SecretKeys, secretKeysOf } from '@lcm/control-plane/keys/secret-keys'
import { ENDING } from '@lcm/controllers/kit/compose-controller'
import { outages } from '@lcm/controllers/kit/dependency-outages'
import { type PromMeter, promMeter } from '@lcm/controllers/kit/metrics'
import { pinoLogger } from '@lcm/controllers/kit/pino-logger'
import type { EtcdCoordination } from '@lcm/coordination/etcd/coordination'
import type { GivenSettings } from '@lcm/domain/fleet/settings'
import { exponentialBackoff, type Logger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { type Store, StoreError } from '@lcm/store/store'
import { closingAfter } from './close-in-reverse-order.ts'
import { backupsOf } from './data/backup-file.ts'
import { restrictToOwner } from './data/data-folder.ts'
import { holdLock } from './data/lock.ts'
import { holdRestoredFleet, refuseUnfinishedRestore } from './data/restore-marks.ts'
import { type ApiEnvironment, bootstrapToken, oidcOf } from './environment/environment.ts'
import { etcdProblems, openEtcd } from './etcd.ts'
import { assetFolder } from './files/asset-folder.ts'
import { readRegionsFile, regionsFrom } from './files/regions-file.ts'
import { readTemplateFiles } from './files/template-files.ts'
import { listen, served, urlWithTls } from './listen.ts'
import { notificationsOf } from './outbound/notification-setting.ts'
import { webhookOf } from './outbound/webhook-setting.ts'
import { hostInStages } from './shutdown-stages.ts'
import { StartupError } from './startup-error.ts'
import { openSharedStore, openStore, watchedStore } from './stores.ts'
import { openServerCertificate, type ServerCertificate } from './tls/server-certificate.ts'
import type { Io } from './up.ts'
import { VERSION } from './version.ts'

/** Runs the control plane as a separate process with etcd: one replica on SQLite, or several on MongoDB. */
export function serveApi(
  env: ApiEnvironment,
  settings: GivenSettings,
  at: { host: string; port: number },
  io: Io,
): Promise<void> {
  const log = pinoLogger({ level: env.LCM_LOG_LEVEL, to: 'stdout' })
  const { signal: ending, hurry } = io
  const meter = promMeter()
  const given = { env, settings, log, ending, meter, ...readFiles(env, log) }
  return closingAfter(async onClose => {
    const file = sqliteFile(env.LCM_STORE)
    if (file !== null) claim(file, onClose)
    const certificate = openServerCertificate(env, { clock: systemClock, logger: log, meter })
    onClose(() => certificate.close())
    const coordination = openEtcd(env, log)
    onClose(() => coordination.close())
    const readiness = readinessGate()
    const server = await listen(readiness.dispatch, {
      ...at,
      publicHosts: [...env.LCM_PUBLIC_HOSTS, ...hostOf(env)],
      certificate,
      publicUrl: env.LCM_PUBLIC_URL ?? urlWithTls(certificate, at),
      trustedProxies: trustedProxies(env.LCM_TRUSTED_PROXIES),
      ending,
    })
    onClose(() => server.close(hurry))
    const waiting = {
      readiness,
      log,
      ending,
      onWait: () => io.out(`control-plane-api at ${server.url} is waiting for the store`),
    }
    const store = await onceThere(
      async () => (file === null ? openSharedStore(env.LCM_STORE, log) : openStore(file, log)),
      waiting,
    )
    if (store === null) return
    onClose(() => store.close())
    const plane = await onceThere(async () => openPlane({ ...given, at, store, coordination, certificate }), waiting)
    if (plane === null) return
    const isPrepared = await onceThere(() => prepare(plane, given), waiting)
    if (isPrepared === null) return
    readiness.open(plane.dispatch)
    io.out(`control-plane-api listens on ${server.url}`)
    const door = served(server, { delayMs: env.LCM_STOP_DELAY, hurry })
    await hostInStages([[door], plane.services], ending, { logger: log })
  })
}

/** Locks an SQLite file for this process. MongoDB can be shared by many. */
function claim(file: string, onClose: (close: () => unknown) => void): void {
  const folder = dirname(file)
  if (!existsSync(folder))
    throw new StartupError(`LCM_STORE: folder ${folder} does not exist`, { advice: 'create it first', exitCode: 2 })
  refuseUnfinishedRestore(folder)
  for (const part of ['', '-wal', '-shm']) restrictToOwner(`${file}${part}`)
  onClose(holdLock(`${file}.lock`, file))
}

interface Waiting {
  readonly readiness: ReadinessGate
  readonly log: Logger
  readonly ending: AbortSignal
  /** Called when the wait starts. */
  readonly onWait: () => void
}

const backoffMs = exponentialBackoff({ baseMs: 500, maxMs: 5_000 })

/** Retries while the store is unreachable, and reports it in /ready. Null if shutdown starts first. */
async function onceThere<T>(work: () => Promise<T>, { readiness, log, ending, onWait }: Waiting): Promise<T | null> {
  for (let failures = 0; !ending.aborted; failures += 1) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      readiness.waitFor(`the store: ${error.message}`)
      if (failures === 0) onWait()
      log.warn({ failures: failures + 1 }, `waiting for the store: ${error.message}`)
      await systemClock.sleep(backoffMs(failures), ending)
    }
  }
  return null
}

/** Reads the files named in the environment, which must be valid before the start continues. */
function readFiles(env: ApiEnvironment, log: Logger) {
  const source = ['/lcm', ...hostOf(env)].join('/')
  const regionFacts = readRegionsFile(env.AWS_REGIONS_CONFIG_PATH)
  return {
    regionFacts,
    regions: regionsFrom(env.AWS_REGION, regionFacts),
    adminToken: bootstrapToken(env),
    outgoing: { ...webhookOf(env, source), notifications: notificationsOf(env, source) },
    templates: readTemplateFiles(assetFolder('deploy', 'templates'), log),
  }
}
type Files = ReturnType<typeof readFiles>

async function prepare(
  plane: ControlPlane,
  { env, adminToken, templates }: Files & { readonly env: ApiEnvironment },
): Promise<true> {
  const file = sqliteFile(env.LCM_STORE)
  if (file !== null) await holdRestoredFleet(dirname(file), plane)
  if (adminToken !== null) plane.access.grant(adminToken, { id: 'admin', name: 'admin', role: 'admin', service: null })
  await plane.seed(templates)
  return true
}

const sqliteFile = (given: string): string | null => /^sqlite:(.+)$/.exec(given)?.[1] ?? null

const hostOf = ({ LCM_PUBLIC_URL: url }: ApiEnvironment): string[] => (url === undefined ? [] : [new URL(url).hostname])

interface PlaneParts extends Files {
  readonly env: ApiEnvironment
  readonly settings: GivenSettings
  readonly log: Logger
  readonly store: Store
  readonly coordination: EtcdCoordination
  readonly certificate: ServerCertificate
  readonly meter: PromMeter
  readonly at: { readonly host: string; readonly port: number }
  /** Aborts when shutdown starts. */
  readonly ending: AbortSignal
}

function openPlane(parts: PlaneParts): ControlPlane {
  const { env, settings, log, store, coordination, certificate, meter, ending, regions, regionFacts } = parts
  const silent = outages({ clock: systemClock, logger: log })
  const secretKeys = givenKeys(secretKeysOf(env.LCM_SECRET_KEY))
  return controlPlane({
    ...backupOf({ env, log, store, secretKeys }),
    ...parts.outgoing,
    store: watchedStore(store, silent),
    log,
    clock: systemClock,
    randomBytes,
    secretKeys,
    changeKeys: coordination.changeKeys,
    oidc: oidcOf(env),
    publicUrl: env.LCM_PUBLIC_URL ?? urlWithTls(certificate, parts.at),
    metricsPublic: env.LCM_METRICS_PUBLIC,
    config: { version: VERSION, profile: 'cluster', cloud: env.LCM_CLOUD, regions, regionFacts, settings },
    process: {
      health() {
        const problems = [...etcdProblems(coordination), ...silent.problems(), ...certificate.problems()]
        return { status: problems.length === 0 ? 'healthy' : 'degraded', problems }
      },
      waitsFor: () => (ending.aborted ? ENDING : null),
      metrics: () => meter.text(),
    },
  })
}

/** The backup has no fleet id, because only the worker-controllers know it. */
function backupOf({
  env,
  log,
  store,
  secretKeys,
}: Pick<PlaneParts, 'env' | 'log' | 'store'> & { secretKeys: SecretKeys }) {
  const storeFile = sqliteFile(env.LCM_STORE)
  if (storeFile === null) return {}
  const cloud = env.LCM_CLOUD
  const backup = backupsOf({
    store,
    storeFile,
    secretKeys,
    fleetId: null,
    cloud,
    copyCloud: null,
    clock: systemClock,
    log,
  })
  return backup === null ? {} : { backup }
}
