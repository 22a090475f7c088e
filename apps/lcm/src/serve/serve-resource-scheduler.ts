import { RESOURCE_SCHEDULER_DEFAULTS } from '@lcm/controllers/scheduler/config'
import { resourceScheduler } from '@lcm/controllers/scheduler/controller'
import { type ResourceSchedulerEnvironment, schedulerLoopsOf } from './environment/environment.ts'
import { type At, serveController } from './serve-controller.ts'
import type { Io } from './up.ts'

export function serveResourceScheduler(env: ResourceSchedulerEnvironment, at: At, io: Io): Promise<void> {
  const config = { ...RESOURCE_SCHEDULER_DEFAULTS, region: env.AWS_REGION, ...schedulerLoopsOf(env) }
  const process = { service: 'resource-scheduler', env, instanceId: env.RESOURCE_SCHEDULER_INSTANCE_ID, at } as const
  return serveController(process, io, parts => resourceScheduler({ ...parts, config }))
}
