import { cmlLabsClient } from '@lcm/cloud-aws/cml/cml-labs'
import { LABLET_CONTROLLER_DEFAULTS } from '@lcm/controllers/lablet/config'
import { contentSources } from '@lcm/controllers/lablet/content/content-sources'
import { RESOURCE_SCHEDULER_DEFAULTS } from '@lcm/controllers/scheduler/config'
import { systemClock } from '@lcm/runtime/clock'
import { bucketsOf } from './cloud.ts'
import {
  cmlDefaultsOf,
  type LabletControllerEnvironment,
  labletLoopsOf,
  type ResourceSchedulerEnvironment,
  schedulerLoopsOf,
} from './environment/environment.ts'
import { type At, serveController } from './serve-controller.ts'
import {
  composeLabletController,
  composeResourceScheduler,
  LABLET_CONTROLLER,
  RESOURCE_SCHEDULER,
} from './session-controllers.ts'
import type { Io } from './up.ts'

export function serveResourceScheduler(env: ResourceSchedulerEnvironment, at: At, io: Io): Promise<void> {
  const given = { ...env, instanceId: env.RESOURCE_SCHEDULER_INSTANCE_ID }
  const config = {
    ...RESOURCE_SCHEDULER_DEFAULTS,
    region: env.AWS_REGION,
    ...schedulerLoopsOf(env),
  }
  return serveController({ service: RESOURCE_SCHEDULER, env: given, at }, io, parts =>
    composeResourceScheduler({ ...parts, config }),
  )
}

export function serveLabletController(env: LabletControllerEnvironment, at: At, io: Io): Promise<void> {
  const given = { ...env, instanceId: env.LABLET_CONTROLLER_INSTANCE_ID }
  const clock = systemClock
  const config = {
    ...LABLET_CONTROLLER_DEFAULTS,
    ...labletLoopsOf(env),
    cmlDefaults: cmlDefaultsOf(env),
  }
  return serveController({ service: LABLET_CONTROLLER, env: given, at }, io, (parts, onClose) => {
    const labs = cmlLabsClient({ clock })
    onClose(() => labs.close())
    const folder = env.LCM_CONTENT_FOLDER ?? null
    const sources = contentSources({ clock, folder, fetch: globalThis.fetch, objects: bucketsOf(env, { clock }) })
    return composeLabletController({ ...parts, labs, sources, config })
  })
}
