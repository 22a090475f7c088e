import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { MachineMetrics } from '@lcm/cloud/metrics'
import type { WorkerControllerConfig } from '@lcm/controllers/worker/config'
import { workerController } from '@lcm/controllers/worker/controller'
import { ledMachines } from '@lcm/controllers/worker/leader-only-compute'
import { type ComposedController, type ControllerParts, compose } from './controller-composition.ts'

export const WORKER_CONTROLLER = 'worker-controller'

export interface WorkerControllerParts extends ControllerParts {
  readonly compute: Compute
  readonly cml: CmlSystem
  readonly metrics: MachineMetrics
  readonly config: WorkerControllerConfig
}

export const composeWorkerController = (parts: WorkerControllerParts): ComposedController =>
  compose(WORKER_CONTROLLER, parts, shared =>
    workerController({ ...parts, ...shared, ...ledMachines({ compute: parts.compute, ...shared }) }),
  )
