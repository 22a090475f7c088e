import { randomBytes } from 'node:crypto'
import { awsMetrics } from '@lcm/cloud-aws/cloudwatch/machine-metrics'
import { cmlSystemClient } from '@lcm/cloud-aws/cml/cml-system'
import { awsCompute } from '@lcm/cloud-aws/ec2/compute'
import { awsCallMetrics } from '@lcm/controllers/kit/metrics'
import { WORKER_CONTROLLER_DEFAULTS, type WorkerControllerConfig } from '@lcm/controllers/worker/config'
import { workerController } from '@lcm/controllers/worker/controller'
import { leaderOnlyCompute } from '@lcm/controllers/worker/leader-only-compute'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { systemClock as clock } from '@lcm/runtime/clock'
import { loopsOf, type WorkerControllerEnvironment } from './environment/environment.ts'
import { readRegionsFile } from './files/regions-file.ts'
import { type At, serveController } from './serve-controller.ts'
import type { Io } from './up.ts'

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
  regions: readRegionsFile(env.AWS_REGIONS_CONFIG_PATH),
  policy: {
    ...WORKER_POLICY,
    probeIntervalMs: env.READY_PROBE_INTERVAL,
    discoveryTag: env.WORKER_DISCOVERY_TAG_FILTER,
    cmlAddress: env.CML_ADDRESS,
  },
  ...loopsOf(env),
})
