import type { Client } from '@lcm/client/client'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { Election, HostedService, Logger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import type { ControllerFace, ControllerHealth } from '@lcm/service/controller-face'
import { decisionLog } from '@lcm/service/decision-log'
import { heartbeat } from '@lcm/service/heartbeat'
import type { PromMeter } from '@lcm/service/prom-meter'
import { type RegisteredElection, registeredElection } from '@lcm/service/registered-election'
import type { WorkerControllerConfig } from '@lcm/worker-controller/config'
import { type WorkerReconciler, workerReconciler } from '@lcm/worker-controller/worker-reconciler'
import { VERSION } from './version.ts'

export const WORKER_CONTROLLER = 'worker-controller'

export interface WorkerControllerParts {
  readonly client: Client
  readonly compute: Compute
  readonly cml: CmlSystem
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
  readonly loop: WorkerReconciler
}

/** The worker-controller with all that belongs to it: the same in a process of its own and beside the API. */
export function composeWorkerController(parts: WorkerControllerParts): ComposedController {
  const { client, changeKeys, logger } = parts
  const clock = systemClock
  const election = registeredElection({ election: parts.election, service: WORKER_CONTROLLER, client, clock, logger })
  const decisions = decisionLog({ client, clock, logger, instanceId: election.instanceId })
  const loop = workerReconciler({ ...parts, election, clock, decisions })
  const beats = heartbeat({
    service: WORKER_CONTROLLER,
    version: VERSION,
    client,
    changeKeys,
    election,
    loop,
    plan: loop.plan,
    clock,
    logger,
  })
  return { services: [loop, decisions.service, beats], face: faceOf(parts, election, loop), loop }
}

const faceOf = (
  parts: WorkerControllerParts,
  election: RegisteredElection,
  loop: WorkerReconciler,
): ControllerFace => ({
  service: WORKER_CONTROLLER,
  version: VERSION,
  health: () => healthOf(parts, election, loop),
  leader: () => election.status(),
  metrics() {
    loop.health()
    return parts.meter.text()
  },
  trigger: () => loop.triggerNow(),
  resign: () => election.resign(),
})

function healthOf(
  parts: WorkerControllerParts,
  election: RegisteredElection,
  loop: WorkerReconciler,
): ControllerHealth {
  const { status, last_reconciliation } = loop.health()
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
    problems,
  }
}
