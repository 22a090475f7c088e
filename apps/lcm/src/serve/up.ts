import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { apiClient } from '@lcm/client/client'
import type { PresetName } from '@lcm/cloud-sim/faults/fault-plan'
import type { AnswerOf } from '@lcm/contract/routes'
import { loginLinkOf } from '@lcm/control-plane/access/login-codes'
import { type ControlPlane, controlPlane } from '@lcm/control-plane/control-plane'
import { answerAdminRequest } from '@lcm/controllers/kit/admin-api'
import {
  type ComposedController,
  combinedHealth,
  composeController,
  ENDING,
  type ProcessParts,
} from '@lcm/controllers/kit/compose-controller'
import type { Controller, ControllerParts } from '@lcm/controllers/kit/controller-types'
import { outages } from '@lcm/controllers/kit/dependency-outages'
import { awsCallMetrics, type PromMeter, promMeter } from '@lcm/controllers/kit/metrics'
import { formatLogLine, pinoLogger } from '@lcm/controllers/kit/pino-logger'
import { LABLET_CONTROLLER_DEFAULTS } from '@lcm/controllers/lablet/config'
import { labletController } from '@lcm/controllers/lablet/controller'
import { RESOURCE_SCHEDULER_DEFAULTS } from '@lcm/controllers/scheduler/config'
import { resourceScheduler } from '@lcm/controllers/scheduler/controller'
import { WORKER_CONTROLLER_DEFAULTS, type WorkerControllerConfig } from '@lcm/controllers/worker/config'
import { workerController } from '@lcm/controllers/worker/controller'
import { leaderOnlyCompute } from '@lcm/controllers/worker/leader-only-compute'
import { type LocalCoordination, localCoordination } from '@lcm/coordination/local/coordination'
import type { Actor, ServiceName } from '@lcm/domain/actor'
import type { Logger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import type { Store } from '@lcm/store/store'
import { closingAfter } from './close-in-reverse-order.ts'
import { type Cloud, realCloud, simulatedCloud } from './cloud-adapters.ts'
import { backupsOf } from './data/backup-file.ts'
import { type DataFolder, isNewFolder, openDataFolder } from './data/data-folder.ts'
import { holdRestoredFleet } from './data/restore-marks.ts'
import {
  labletLoopsOf,
  loopsOf,
  schedulerLoopsOf,
  settingsEnvironment,
  type UpEnvironment,
  upEnvironment,
} from './environment/environment.ts'
import { openSecretFiles, readBoth } from './environment/read-environment.ts'
import { unknownVariables } from './environment/unknown-variables.ts'
import { assetFolder } from './files/asset-folder.ts'
import { regionsFrom } from './files/regions-file.ts'
import { readTemplateFiles } from './files/template-files.ts'
import { createFirstFleet } from './first-fleet.ts'
import { listen, refuseTakenPort, served, urlWithTls } from './listen.ts'
import { contentSourcesOf } from './outbound/content-setting.ts'
import { notificationsOf } from './outbound/notification-setting.ts'
import { webhookOf } from './outbound/webhook-setting.ts'
import { hostInStages } from './shutdown-stages.ts'
import { openStore, prepared, watchedStore } from './stores.ts'
import { openServerCertificate, type ServerCertificate } from './tls/server-certificate.ts'
import { VERSION } from './version.ts'

export interface UpOptions {
  readonly cloud: 'sim' | 'aws'
  readonly dataDir: string
  /** Null uses the default. */
  readonly port: number | null
  readonly simPort: number | null
  readonly speed: number | null
  /** Null keeps the faults of the simulated cloud. */
  readonly simPreset: PresetName | null
  /** Number of machines in a new simulated cloud. */
  readonly simFleet: number
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Io {
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  /** Aborts when shutdown starts; work in progress is finished. */
  readonly signal: AbortSignal
  /** Aborts on the second request to shut down; work in progress is canceled. */
  readonly hurry?: AbortSignal
  /** Whether the output is a terminal. */
  readonly isTerminal?: boolean
}

/** `lcm up` listens on loopback only. */
const at = ({ port }: UpOptions) => ({ host: 'localhost', port: port ?? PORT })

const ADMIN: Actor = { id: 'admin', name: 'admin', role: 'admin', service: null }
const PORT = 8080
/** The default data folder of the command line. */
const DEFAULT_DATA = '.lcm'
const SPEED = 60

/** Runs the embedded profile, with every service in one process, until the signal aborts. Rejects with a StartupError. */
export function up(options: UpOptions, io: Io): Promise<void> {
  return closingAfter(async onClose => {
    const [env] = readBoth(
      () => upEnvironment(options.env),
      () => settingsEnvironment(options.env),
    )
    const toPeople = { write: (json: string) => io.err(formatLogLine(json)) }
    const log = pinoLogger({ level: env.LCM_LOG_LEVEL, to: io.isTerminal ? toPeople : 'stderr' })
    for (const line of [...unknownVariables(options.env), ...openSecretFiles(options.env)]) io.err(line)
    const meter = promMeter()
    const certificate = openServerCertificate(env, { clock: systemClock, logger: log, meter })
    onClose(() => certificate.close())
    if (isNewFolder(options.dataDir)) await refuseTakenPort(options.port ?? PORT)
    const folder = openDataFolder(options.dataDir, options.cloud)
    onClose(() => folder.release())
    const store = openStore(folder.file('lcm.sqlite'), log)
    onClose(() => store.close())
    const cloud = await openCloud({ options, env, io, folder, log, meter })
    onClose(() => cloud.close())
    const region = homeRegion(options.cloud, env, cloud)
    if (region !== env.AWS_REGION) io.err(otherRegion(env.AWS_REGION, region))
    const regions = regionsFrom(region, cloud.regions)
    folder.bind()
    await serve({ options, env, io, log, meter, certificate, folder, store, cloud, regions }, onClose)
  })
}

interface Opened {
  readonly options: UpOptions
  readonly env: UpEnvironment
  readonly io: Io
  readonly log: Logger
  readonly meter: PromMeter
  readonly certificate: ServerCertificate
  readonly folder: DataFolder
  readonly store: Store
  readonly cloud: Cloud
  /** The first is the default region of new workers. */
  readonly regions: readonly [string, ...string[]]
}

/** Falls back to us-east-1 in the simulated cloud, because AWS_REGION is often set for other tools. */
const homeRegion = (kind: UpOptions['cloud'], { AWS_REGION }: UpEnvironment, { regions }: Cloud): string =>
  kind === 'aws' || Object.hasOwn(regions, AWS_REGION) ? AWS_REGION : 'us-east-1'

const otherRegion = (requested: string, given: string): string =>
  `The simulated cloud has no region ${requested} (AWS_REGION): the default region of workers is ${given}`

async function serve(opened: Opened, onClose: (close: () => unknown) => void): Promise<void> {
  const { options, io, log, certificate, folder, cloud } = opened
  const coordination = localCoordination({ clock: systemClock, firstEpoch: service => plane.nextEpoch(service) })
  const controllers: ComposedController[] = []
  const plane = await prepared(async () => {
    const made = openControlPlane(opened, { changeKeys: coordination.changeKeys, controllers })
    await holdRestoredFleet(folder.path, made)
    made.access.grant(folder.adminToken, ADMIN)
    await made.seed(readTemplateFiles(assetFolder('deploy', 'templates'), log))
    return made
  })
  if (options.cloud === 'sim') await createFirstFleet(apiClient(plane.dispatch, { token: folder.adminToken }))
  controllers.push(...composeAll(opened, { plane, coordination }))
  const { signal, hurry } = io
  const publicUrl = urlWithTls(certificate, at(options))
  const server = await listen(plane.dispatch, { ...at(options), certificate, publicUrl, ending: signal })
  onClose(() => server.close(hurry))
  folder.publish({ api: server.url, ...cloud.endpoints, pid: process.pid })
  const loginUrl = `${server.url}${loginLinkOf(await plane.access.createLoginCode(ADMIN))}`
  const settings = await apiClient(plane.dispatch, { token: folder.adminToken }).call('getSettings', {})
  for (const line of welcome(server.url, loginUrl, { ...opened, hasBudget: isBudgetSet(settings) })) io.out(line)
  hurry?.addEventListener('abort', () => controllers.map(({ abandon }) => abandon()))
  const work = controllers.map(({ work }) => work)
  const reports = controllers.flatMap(({ reports }) => reports)
  const stages = [[served(server, { delayMs: 0, hurry }), ...work], reports, plane.services]
  await hostInStages(stages, signal, { logger: log })
}

/** Composes all controllers in this process. Each has its own name and token, as in the cluster profile. */
function composeAll(
  { env, io, log, meter, folder, cloud, regions: [region] }: Opened,
  { plane, coordination }: { plane: ControlPlane; coordination: LocalCoordination },
): ComposedController[] {
  const instanceId = `${hostname()}-${randomBytes(4).toString('hex')}`
  const partsOf = (service: ServiceName): ProcessParts => {
    const token = randomBytes(32).toString('base64url')
    plane.access.grant(token, { id: service, name: service, role: 'controller', service })
    return {
      version: VERSION,
      client: apiClient(plane.dispatch, { token }),
      changeKeys: coordination.changeKeys,
      election: coordination.election(service, instanceId),
      logger: log,
      meter,
      ending: io.signal,
      waitsFor: () => null,
      problems: () => [],
    }
  }
  const config = controllerConfig(env, folder.fleetId, cloud)
  const { compute, metrics, cml, labs, objects } = cloud
  const sources = contentSourcesOf(env, { folder: folder.file('content'), objects })
  const schedulerConfig = { ...RESOURCE_SCHEDULER_DEFAULTS, region, ...schedulerLoopsOf(env) }
  const { cmlDefaults } = config
  const labletConfig = { ...LABLET_CONTROLLER_DEFAULTS, ...labletLoopsOf(env), cmlDefaults }
  const composed = (service: ServiceName, create: (parts: ControllerParts) => Controller) =>
    composeController(service, partsOf(service), create)
  return [
    composed('worker-controller', parts =>
      workerController({ ...parts, ...leaderOnlyCompute({ ...parts, compute }), metrics, cml, config }),
    ),
    composed('resource-scheduler', parts => resourceScheduler({ ...parts, config: schedulerConfig })),
    composed('lablet-controller', parts => labletController({ ...parts, labs, sources, config: labletConfig })),
  ]
}

function controllerConfig(env: UpEnvironment, fleet: string, cloud: Cloud): WorkerControllerConfig {
  const { cmlDefaults, ...set } = loopsOf(env)
  return {
    ...WORKER_CONTROLLER_DEFAULTS,
    launchSecret: randomBytes(32).toString('hex'),
    fleet,
    regions: cloud.regions,
    policy: { ...cloud.policy, discoveryTag: env.WORKER_DISCOVERY_TAG_FILTER, cmlAddress: env.CML_ADDRESS },
    ...set,
    cmlDefaults: cmlDefaults ?? cloud.cmlDefaults,
  }
}

async function openCloud(given: Pick<Opened, 'options' | 'env' | 'io' | 'folder' | 'log' | 'meter'>): Promise<Cloud> {
  const { options, env, folder, log } = given
  const shared = { clock: systemClock, onCall: awsCallMetrics(given.meter) }
  if (options.cloud === 'aws')
    return realCloud({
      ...shared,
      signal: given.io.signal,
      regionsFile: options.env.AWS_REGIONS_CONFIG_PATH,
      buckets: env,
    })
  const seed = createHash('sha256').update(folder.fleetId).digest().readUInt32BE(0)
  const storeFile = folder.file('sim.sqlite')
  const speed = options.speed ?? SPEED
  const { simPort: port, simPreset: preset, simFleet: fleet } = options
  return simulatedCloud({ ...shared, log, storeFile, seed, speed, port, preset, fleet })
}

function openControlPlane(
  { options, env, io, log, meter, certificate, folder, store, cloud, regions }: Opened,
  rest: {
    changeKeys: Parameters<typeof controlPlane>[0]['changeKeys']
    controllers: readonly ComposedController[]
  },
): ControlPlane {
  const backup = backupsOf({
    store,
    storeFile: folder.file('lcm.sqlite'),
    secretKeys: folder.secretKeys,
    fleetId: folder.fleetId,
    cloud: options.cloud,
    copyCloud: cloud.backup,
    clock: systemClock,
    log,
  })
  const silent = outages({ clock: systemClock, logger: log })
  return controlPlane({
    ...(backup === null ? {} : { backup }),
    ...webhookOf(env, `/lcm/${folder.fleetId}`),
    notifications: notificationsOf(env, `/lcm/${folder.fleetId}`),
    store: watchedStore(store, silent),
    log,
    clock: systemClock,
    randomBytes,
    secretKeys: folder.secretKeys,
    changeKeys: rest.changeKeys,
    publicUrl: urlWithTls(certificate, at(options)),
    metricsPublic: env.LCM_METRICS_PUBLIC,
    config: {
      version: VERSION,
      profile: 'embedded',
      cloud: options.cloud,
      regions,
      regionFacts: cloud.regions,
      settings: settingsEnvironment(options.env),
    },
    process: {
      ...(cloud.control === null ? {} : { simulator: cloud.control.handle }),
      health: () => combinedHealth(rest.controllers, [...silent.problems(), ...certificate.problems()]),
      waitsFor: () => (io.signal.aborted ? ENDING : rest.controllers.length === 0 ? 'its controllers' : null),
      metrics: () => {
        for (const controller of rest.controllers) controller.refreshGauges()
        return meter.text()
      },
      controller(service, { roleOf, ...request }) {
        const admin = rest.controllers.find(each => each.admin.service === service)?.admin
        return admin === undefined ? null : answerAdminRequest(admin, request, roleOf)
      },
    },
  })
}

const noBudget = (at: string): string[] => [
  '',
  '  No budget is set, so LCM may buy and start machines without a limit of money. Set one:',
  `    npx lcm${at} set setting budget_usd_per_day 100`,
]

const TO_TRY_ON_A_SIMULATED_CLOUD = ['book two-routers --wait', 'chaos stop metal-1', 'why worker metal-1']

const isBudgetSet = ({ settings }: AnswerOf<'getSettings'>): boolean =>
  settings.budget_usd_per_day.value !== 'off' || settings.budget_usd_per_month.value !== 'off'

function welcome(
  url: string,
  loginUrl: string,
  { options, folder, cloud, hasBudget }: Opened & { readonly hasBudget: boolean },
): string[] {
  const at = resolve(options.dataDir) === resolve(DEFAULT_DATA) ? '' : ` --data ${options.dataDir}`
  const where = options.cloud === 'sim' ? `a simulated cloud at ${cloud.endpoints.aws}` : 'AWS'
  return [
    '',
    `  Lablet Cloud Manager ${VERSION} is running on ${where}`,
    '',
    `  Console      ${url}`,
    `  API docs     ${url}/api/docs`,
    `  Log in once  ${loginUrl}`,
    `  Admin token  ${folder.file('admin-token')}`,
    '',
    '  Try',
    `    npx lcm${at} top`,
    `    npx lcm${at} create worker --template metal --name mine --wait`,
    ...(options.cloud === 'sim' ? TO_TRY_ON_A_SIMULATED_CLOUD.map(words => `    npx lcm${at} ${words}`) : []),
    ...(options.cloud === 'sim' || hasBudget ? [] : noBudget(at)),
    '',
    '  Press Ctrl-C to stop. The next start continues with the same state.',
    '',
  ]
}
