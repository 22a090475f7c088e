import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isProblem } from '@lcm/client/api-error'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { awsCompute } from '@lcm/cloud-aws/aws-compute'
import { cmlSystemClient } from '@lcm/cloud-aws/cml-client'
import type { Dispatch } from '@lcm/contract/wire'
import type { EtcdCoordination } from '@lcm/coordination/etcd'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { host, type Reconciliation } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { type ControllerFace, type ControllerHealth, startControllerServer } from '@lcm/service/controller-server'
import { pinoLogger } from '@lcm/service/pino-logger'
import { type PromMeter, promMeter } from '@lcm/service/prom-meter'
import { type RegisteredElection, registeredElection } from '@lcm/service/registered-election'
import { WORKER_CONTROLLER_DEFAULTS, type WorkerControllerConfig } from '@lcm/worker-controller/config'
import { workerReconciler } from '@lcm/worker-controller/worker-reconciler'
import { closingAfter } from './closing.ts'
import type { WorkerControllerEnvironment } from './environment.ts'
import { readRegionFile } from './region-file.ts'
import { etcdProblems, openEtcd } from './serving.ts'
import type { Io } from './up.ts'
import { VERSION } from './version.ts'

const SERVICE = 'worker-controller'

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
    const cml = cmlSystemClient({ clock })
    onClose(() => cml.close())
    const transport = httpTransport({ baseUrl: env.CONTROL_PLANE_API_URL, clock })
    const client = apiClient(transport, { token: env.LCM_SERVICE_TOKEN })
    const instanceId = env.WORKER_CONTROLLER_INSTANCE_ID ?? `${hostname()}-${randomBytes(4).toString('hex')}`
    const seat = coordination.election(SERVICE, instanceId)
    const election = registeredElection({ election: seat, service: SERVICE, client, clock, logger })
    const meter = promMeter()
    const { changeKeys } = coordination
    const loop = workerReconciler({
      client,
      compute,
      cml,
      election,
      changeKeys,
      clock,
      logger,
      meter,
      config: configOf(env),
    })
    const face = faceOf({ election, loop, coordination, meter, transport })
    const server = await startControllerServer({ face, ...at })
    onClose(() => server.close())
    io.out(`${SERVICE} ${instanceId} listens on ${server.url}`)
    await host([loop], io.signal, { logger })
  })
}

const configOf = (env: WorkerControllerEnvironment): WorkerControllerConfig => ({
  ...WORKER_CONTROLLER_DEFAULTS,
  fleet: env.LCM_FLEET,
  regions: readRegionFile(env.AWS_REGIONS_CONFIG_PATH),
  policy: { ...WORKER_POLICY, probeIntervalMs: env.READY_PROBE_INTERVAL },
  reconcileIntervalMs: env.RECONCILE_INTERVAL,
  pollingEnabled: env.RECONCILE_POLLING_ENABLED,
})

interface FaceParts {
  readonly election: RegisteredElection
  readonly loop: Reconciliation
  readonly coordination: EtcdCoordination
  readonly meter: PromMeter
  readonly transport: Dispatch
}

const faceOf = (parts: FaceParts): ControllerFace => ({
  service: SERVICE,
  version: VERSION,
  health: () => healthOf(parts),
  leader: () => parts.election.status(),
  metrics() {
    parts.loop.health()
    return parts.meter.text()
  },
  trigger: () => parts.loop.triggerNow(),
  resign: () => parts.election.resign(),
  async roleOf(token) {
    try {
      return (await apiClient(parts.transport, { token }).call('info', {})).actor.role
    } catch (error) {
      if (isProblem(error, 'unauthenticated')) return null
      throw error
    }
  },
})

function healthOf({ election, loop, coordination }: FaceParts): ControllerHealth {
  const { status, last_reconciliation } = loop.health()
  const regressed = 'epoch_regressed: the API has seen a newer term; run: lcm services reset-term worker-controller'
  const problems = [
    ...etcdProblems(coordination),
    ...(election.isEpochRegressed() ? [regressed] : []),
    ...(status === 'degraded' ? ['the watch is degraded; polling goes on'] : []),
  ]
  return {
    status: problems.length === 0 ? 'healthy' : 'degraded',
    is_leader: election.status().state === 'LEADER',
    instance_id: election.instanceId,
    last_reconciliation,
    problems,
  }
}
