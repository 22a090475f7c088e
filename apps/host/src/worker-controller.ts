import type { Client } from '@lcm/client/client'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { MachineMetrics } from '@lcm/cloud/metrics'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { Election, HostedService, Logger, Reconciliation } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import type { ControllerFace, ControllerHealth } from '@lcm/service/controller-face'
import { decisionLog } from '@lcm/service/decision-log'
import { heartbeat } from '@lcm/service/heartbeat'
import type { PromMeter } from '@lcm/service/prom-meter'
import { type RegisteredElection, registeredElection } from '@lcm/service/registered-election'
import type { WorkerControllerConfig } from '@lcm/worker-controller/config'
import { ledMachines } from '@lcm/worker-controller/led-machines'
import { type WorkerController, workerController } from '@lcm/worker-controller/worker-controller'
import { VERSION } from './version.ts'

export const WORKER_CONTROLLER = 'worker-controller'

export interface WorkerControllerParts {
  readonly client: Client
  readonly compute: Compute
  readonly cml: CmlSystem
  readonly metrics: MachineMetrics
  readonly changeKeys: ChangeKeys
  readonly election: Election
  readonly logger: Logger
  readonly meter: PromMeter
  readonly config: WorkerControllerConfig
  /** What is wrong around it, as sentences. */
  problems(): readonly string[]
}

export interface ComposedController {
  readonly services: readonly HostedService[]
  readonly face: ControllerFace
  readonly loop: Reconciliation
}

/** The worker-controller with all that belongs to it: the same in a process of its own and beside the API. */
export function composeWorkerController(parts: WorkerControllerParts): ComposedController {
  const { client, changeKeys, logger } = parts
  const clock = systemClock
  const registered = registeredElection({ election: parts.election, service: WORKER_CONTROLLER, client, clock, logger })
  const { machines, election } = ledMachines({ compute: parts.compute, election: registered, clock })
  const decisions = decisionLog({ client, clock, logger, instanceId: election.instanceId })
  const controller = workerController({ ...parts, machines, election, clock, decisions })
  const { loop } = controller
  const beats = heartbeat({
    service: WORKER_CONTROLLER,
    version: VERSION,
    client,
    changeKeys,
    election,
    loop,
    plan: controller.plan,
    clock,
    logger,
  })
  return { services: [controller.service, decisions.service, beats], face: faceOf(parts, election, controller), loop }
}

const faceOf = (
  parts: WorkerControllerParts,
  election: RegisteredElection,
  controller: WorkerController,
): ControllerFace => ({
  service: WORKER_CONTROLLER,
  version: VERSION,
  health: () => healthOf(parts, election, controller),
  leader: () => election.status(),
  metrics() {
    controller.loop.health()
    controller.stats()
    return parts.meter.text()
  },
  stats: controller.stats,
  plan: controller.plan,
  trigger: () => controller.loop.triggerNow(),
  resign: () => election.resign(),
})

function healthOf(
  parts: WorkerControllerParts,
  election: RegisteredElection,
  controller: WorkerController,
): ControllerHealth {
  const { status, last_reconciliation } = controller.loop.health()
  const regressed = 'epoch_regressed: the API has seen a newer term; run: lcm services reset-term worker-controller'
  const problems = [
    ...parts.problems(),
    ...(election.isEpochRegressed() ? [regressed] : []),
    ...(status === 'degraded' ? ['the watch is degraded; polling goes on'] : []),
  ]
  return {
    status: problems.length === 0 ? 'healthy' : 'degraded',
    is_leader: election.status().state === 'LEADER',
    instance_id: election.instanceId,
    last_reconciliation,
    ...controller.health(),
    problems,
  }
}
