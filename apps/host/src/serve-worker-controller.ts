import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isProblem } from '@lcm/client/api-error'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { awsCompute } from '@lcm/cloud-aws/aws-compute'
import { awsMetrics } from '@lcm/cloud-aws/aws-metrics'
import { cmlSystemClient } from '@lcm/cloud-aws/cml-system'
import type { Dispatch } from '@lcm/contract/wire'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { host } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { startControllerServer } from '@lcm/service/controller-server'
import { pinoLogger } from '@lcm/service/pino-logger'
import { promMeter } from '@lcm/service/prom-meter'
import { WORKER_CONTROLLER_DEFAULTS, type WorkerControllerConfig } from '@lcm/worker-controller/config'
import { closingAfter } from './closing.ts'
import { loopsOf, type WorkerControllerEnvironment } from './environment.ts'
import { readRegionFile } from './region-file.ts'
import { etcdProblems, openEtcd } from './serving.ts'
import type { Io } from './up.ts'
import { composeWorkerController, WORKER_CONTROLLER } from './worker-controller.ts'

/** The worker-controller as a process of its own. Any number may run; one leads. */
export function serveWorkerController(
  env: WorkerControllerEnvironment,
  at: { host: string; port: number },
  io: Io,
): Promise<void> {
  const logger = pinoLogger({ level: env.LCM_LOG_LEVEL, to: 'stdout' })
  const clock = systemClock
  return closingAfter(async onClose => {
    const coordination = openEtcd(env, logger)
    onClose(() => coordination.close())
    const compute = awsCompute({ clock })
    onClose(() => compute.close())
    const metrics = awsMetrics({ clock })
    onClose(() => metrics.close())
    const cml = cmlSystemClient({ clock })
    onClose(() => cml.close())
    const transport = httpTransport({ baseUrl: env.CONTROL_PLANE_API_URL, clock })
    const instanceId = env.WORKER_CONTROLLER_INSTANCE_ID ?? `${hostname()}-${randomBytes(4).toString('hex')}`
    const controller = composeWorkerController({
      client: apiClient(transport, { token: env.LCM_SERVICE_TOKEN }),
      compute,
      metrics,
      cml,
      changeKeys: coordination.changeKeys,
      election: coordination.election(WORKER_CONTROLLER, instanceId),
      logger,
      meter: promMeter(),
      config: configOf(env),
      problems: () => etcdProblems(coordination),
    })
    const server = await startControllerServer({ face: controller.face, roleOf: roleAt(transport), ...at })
    onClose(() => server.close())
    io.out(`${WORKER_CONTROLLER} ${instanceId} listens on ${server.url}`)
    await host([...controller.services], io.signal, { logger })
  })
}

const configOf = (env: WorkerControllerEnvironment): WorkerControllerConfig => ({
  ...WORKER_CONTROLLER_DEFAULTS,
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

/** The API knows who people are. */
const roleAt = (transport: Dispatch) => async (token: string) => {
  try {
    return (await apiClient(transport, { token }).call('info', {})).actor.role
  } catch (error) {
    if (isProblem(error, 'unauthenticated')) return null
    throw error
  }
}
