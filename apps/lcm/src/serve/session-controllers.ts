import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { LabletControllerConfig } from '@lcm/controllers/lablet/config'
import type { ContentSources } from '@lcm/controllers/lablet/content/content-sources'
import { labletController } from '@lcm/controllers/lablet/controller'
import type { ResourceSchedulerConfig } from '@lcm/controllers/scheduler/config'
import { resourceScheduler } from '@lcm/controllers/scheduler/controller'
import { type ComposedController, type ControllerParts, compose } from './controller-composition.ts'

export const RESOURCE_SCHEDULER = 'resource-scheduler'
export const LABLET_CONTROLLER = 'lablet-controller'

export const composeResourceScheduler = (
  parts: ControllerParts & { readonly config: ResourceSchedulerConfig },
): ComposedController => compose(RESOURCE_SCHEDULER, parts, shared => resourceScheduler({ ...parts, ...shared }))

export interface LabletControllerParts extends ControllerParts {
  readonly labs: CmlLabs
  readonly sources: ContentSources
  readonly config: LabletControllerConfig
}

export const composeLabletController = (parts: LabletControllerParts): ComposedController =>
  compose(LABLET_CONTROLLER, parts, shared => labletController({ ...parts, ...shared }))
