import { randomBytes } from 'node:crypto'
import { awsMetrics } from '@lcm/cloud-aws/cloudwatch/metrics'
import { cmlSystemClient } from '@lcm/cloud-aws/cml/cml-system'
import { awsCompute } from '@lcm/cloud-aws/ec2/compute'
import { WORKER_CONTROLLER_DEFAULTS, type WorkerControllerConfig } from '@lcm/controllers/worker/config'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { systemClock } from '@lcm/runtime/clock'
import { awsCallMetrics } from './aws-call-metrics.ts'
import { loopsOf, type WorkerControllerEnvironment } from './environment/environment.ts'
import { readRegionFile } from './files/region-file.ts'
import { type At, serveController } from './serve-controller.ts'
import type { Io } from './up.ts'
import { composeWorkerController, WORKER_CONTROLLER } from './worker-controller.ts'

export const serveWorkerController = (env: WorkerControllerEnvironment, at: At, io: Io): Promise<void> => {
  const given = { ...env, instanceId: env.WORKER_CONTROLLER_INSTANCE_ID }
  const config = workerControllerConfig(env)
  return serveController({ service: WORKER_CONTROLLER, env: given, at }, io, (parts, onClose) => {
    const clock = systemClock
    const onCall = awsCallMetrics(parts.meter)
    const [compute, metrics] = [awsCompute({ clock, onCall }), awsMetrics({ clock, onCall })]
    const cml = cmlSystemClient({ clock })
    for (const each of [compute, metrics, cml]) onClose(() => each.close())
    return composeWorkerController({ ...parts, compute, metrics, cml, config })
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
