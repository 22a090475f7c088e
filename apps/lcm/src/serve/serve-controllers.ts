import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { apiClient, isProblem } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { awsMetrics } from '@lcm/cloud-aws/cloudwatch/machine-metrics'
import { cmlLabsClient } from '@lcm/cloud-aws/cml/cml-labs'
import { cmlSystemClient } from '@lcm/cloud-aws/cml/cml-system'
import { awsCompute } from '@lcm/cloud-aws/ec2/compute'
import type { Dispatch } from '@lcm/contract/route-spec'
import { startAdminServer } from '@lcm/controllers/kit/admin-server'
import { apiClock } from '@lcm/controllers/kit/api-clock'
import { composeController, type ProcessParts } from '@lcm/controllers/kit/compose-controller'
import type { Controller, ControllerParts } from '@lcm/controllers/kit/controller-types'
import { awsCallMetrics, promMeter } from '@lcm/controllers/kit/metrics'
import { pinoLogger } from '@lcm/controllers/kit/pino-logger'
import { LABLET_CONTROLLER_DEFAULTS } from '@lcm/controllers/lablet/config'
import { contentSources } from '@lcm/controllers/lablet/content/content-sources'
import { labletController } from '@lcm/controllers/lablet/controller'
import { RESOURCE_SCHEDULER_DEFAULTS } from '@lcm/controllers/scheduler/config'
import { resourceScheduler } from '@lcm/controllers/scheduler/controller'
import { WORKER_CONTROLLER_DEFAULTS, type WorkerControllerConfig } from '@lcm/controllers/worker/config'
import { workerController } from '@lcm/controllers/worker/controller'
import { leaderOnlyCompute } from '@lcm/controllers/worker/leader-only-compute'
import type { ServiceName } from '@lcm/domain/actor'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { systemClock } from '@lcm/runtime/clock'
import { closingAfter } from './close-in-reverse-order.ts'
import { bucketsOf } from './cloud-adapters.ts'
import {
  type ControllerEnvironment,
  cmlDefaultsOf,
  type LabletControllerEnvironment,
  labletLoopsOf,
  loopsOf,
  type ResourceSchedulerEnvironment,
  schedulerLoopsOf,
  type WorkerControllerEnvironment,
} from './environment/environment.ts'
import { etcdAwaited, etcdProblems, openEtcd } from './etcd.ts'
import { readRegionFile } from './files/region-file.ts'
import { refusedToListen } from './listen.ts'
import { hostInStages } from './shutdown-stages.ts'
import type { Io } from './up.ts'
import { VERSION } from './version.ts'

export interface At {
  readonly host: string
  readonly port: number
}

const clock = systemClock

export const serveWorkerController = (env: WorkerControllerEnvironment, at: At, io: Io): Promise<void> => {
  const config = workerControllerConfig(env)
  const process = { service: 'worker-controller', env, instanceId: env.WORKER_CONTROLLER_INSTANCE_ID, at } as const
  return serveController(process, io, (parts, onClose) => {
    const onCall = awsCallMetrics(parts.meter)
    const [compute, metrics] = [awsCompute({ clock, onCall }), awsMetrics({ clock, onCall })]
    const cml = cmlSystemClient({ clock })
    for (const each of [compute, metrics, cml]) onClose(() => each.close())
    return workerController({ ...parts, ...leaderOnlyCompute({ ...parts, compute }), metrics, cml, config })
  })
}

export const workerControllerConfig = (env: WorkerControllerEnvironment): WorkerControllerConfig => ({
  ...WORKER_CONTROLLER_DEFAULTS,
  launchSecret: randomBytes(32).toString('hex'),
  fleet: env.LCM_FLEET,
  regions: readRegionFile(env.AWS_REGIONS_CONFIG_PATH),
  policy: {
    ...WORKER_POLICY,
    probeIntervalMs: env.READY_PROBE_INTERVAL,
    discoveryTag: env.WORKER_DISCOVERY_TAG_FILTER,
    cmlAddress: env.CML_ADDRESS,
  },
  ...loopsOf(env),
})

export function serveResourceScheduler(env: ResourceSchedulerEnvironment, at: At, io: Io): Promise<void> {
  const config = { ...RESOURCE_SCHEDULER_DEFAULTS, region: env.AWS_REGION, ...schedulerLoopsOf(env) }
  const process = { service: 'resource-scheduler', env, instanceId: env.RESOURCE_SCHEDULER_INSTANCE_ID, at } as const
  return serveController(process, io, parts => resourceScheduler({ ...parts, config }))
}

export function serveLabletController(env: LabletControllerEnvironment, at: At, io: Io): Promise<void> {
  const config = { ...LABLET_CONTROLLER_DEFAULTS, ...labletLoopsOf(env), cmlDefaults: cmlDefaultsOf(env) }
  const process = { service: 'lablet-controller', env, instanceId: env.LABLET_CONTROLLER_INSTANCE_ID, at } as const
  return serveController(process, io, (parts, onClose) => {
    const labs = cmlLabsClient({ clock })
    onClose(() => labs.close())
    const folder = env.LCM_CONTENT_FOLDER ?? null
    const sources = contentSources({ clock, folder, fetch: globalThis.fetch, objects: bucketsOf(env, { clock }) })
    return labletController({ ...parts, labs, sources, config })
  })
}

interface ControllerProcess {
  readonly service: ServiceName
  readonly env: ControllerEnvironment
  readonly instanceId: string | undefined
  readonly at: At
}

/** A controller as a process of its own. Any number may run; one leads. `onClose` closes what `create` opened. */
function serveController(
  { service, env, instanceId = `${hostname()}-${randomBytes(4).toString('hex')}`, at }: ControllerProcess,
  io: Io,
  create: (parts: ControllerParts, onClose: (close: () => unknown) => void) => Controller,
): Promise<void> {
  const logger = pinoLogger({ level: env.LCM_LOG_LEVEL, to: 'stdout' })
  return closingAfter(async onClose => {
    const coordination = openEtcd(env, logger)
    onClose(() => coordination.close())
    const { clock: apiTime, hearing } = apiClock(systemClock)
    const transport = hearing(httpTransport({ baseUrl: env.CONTROL_PLANE_API_URL, clock: systemClock }))
    const parts: ProcessParts = {
      version: VERSION,
      client: apiClient(transport, { token: env.LCM_SERVICE_TOKEN }),
      changeKeys: coordination.changeKeys,
      election: coordination.election(service, instanceId),
      logger,
      clock: apiTime,
      meter: promMeter(),
      ending: io.signal,
      waitsFor: () => etcdAwaited(coordination),
      problems: () => etcdProblems(coordination),
    }
    const controller = composeController(service, parts, shared => create(shared, onClose))
    const metricsPublic = env.LCM_METRICS_PUBLIC
    const server = await startAdminServer({
      api: controller.admin,
      roleOf: roleAt(transport),
      metricsPublic,
      ...at,
    }).catch((cause: unknown) => {
      throw refusedToListen(cause, at)
    })
    onClose(() => server.close())
    io.out(`${service} ${instanceId} listens on ${server.url}`)
    io.hurry?.addEventListener('abort', () => controller.abandon())
    await hostInStages([[controller.work], controller.reports], io.signal, { logger })
  })
}

/** Roles come from the API: a controller keeps no users. */
const roleAt = (transport: Dispatch) => async (token: string) => {
  try {
    return (await apiClient(transport, { token }).call('info', {})).actor.role
  } catch (error) {
    if (isProblem(error, 'unauthenticated')) return null
    throw error
  }
}
