import type { ServiceName } from '@lcm/domain/actor'
import type { HostedService, Reconciliation } from '@lcm/runtime'
import { type Clock, systemClock } from '@lcm/runtime/clock'
import type { Controller, ControllerParts as Shared } from '@lcm/service/controller'
import type { ControllerFace, ControllerHealth } from '@lcm/service/controller-face'
import { type DecisionLog, decisionLog } from '@lcm/service/decision-log'
import { heartbeat } from '@lcm/service/heartbeat'
import type { PromMeter } from '@lcm/service/prom-meter'
import { type RegisteredElection, registeredElection } from '@lcm/service/registered-election'
import { VERSION } from './version.ts'

/** What every controller is given, in a process of its own and beside the API. */
export interface ControllerParts extends Omit<Shared, 'decisions' | 'clock'> {
  readonly meter: PromMeter
  /** Aborts when the process was asked to end. */
  readonly ending: AbortSignal
  /** What is wrong around it, as sentences. */
  problems(): readonly string[]
}

export interface ComposedController {
  readonly services: readonly HostedService[]
  readonly face: ControllerFace
  readonly loop: Reconciliation
}

/** A controller with all that belongs to it: terms that the API knows, decisions on record, a heartbeat, a face. */
export function compose(
  service: ServiceName,
  parts: ControllerParts,
  make: (shared: { election: RegisteredElection; decisions: DecisionLog; clock: Clock }) => Controller,
): ComposedController {
  const { client, changeKeys, logger } = parts
  const clock = systemClock
  const election = registeredElection({ election: parts.election, service, client, clock, logger })
  const decisions = decisionLog({ client, clock, logger, instanceId: election.instanceId })
  const controller = make({ election, decisions, clock })
  const { loop, plan } = controller
  const problems = () => problemsOf(service, parts, { election, controller })
  const told = { election, loop, plan, problems }
  const beats = heartbeat({ service, version: VERSION, client, changeKeys, ...told, clock, logger })
  return {
    services: [controller.service, decisions.service, beats],
    face: faceOf(service, parts, { election, controller }),
    loop,
  }
}

interface Made {
  readonly election: RegisteredElection
  readonly controller: Controller
}

const faceOf = (service: ServiceName, parts: ControllerParts, { election, controller }: Made): ControllerFace => ({
  service,
  version: VERSION,
  health: () => healthOf(service, parts, { election, controller }),
  ready: () => !parts.ending.aborted,
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

function problemsOf(service: ServiceName, parts: ControllerParts, { election, controller }: Made): readonly string[] {
  const regressed = `epoch_regressed: the API has seen a newer term; run: lcm services reset-term ${service}`
  return [
    ...parts.problems(),
    ...(election.isEpochRegressed() ? [regressed] : []),
    ...(controller.loop.health().status === 'degraded' ? ['the watch is degraded; polling goes on'] : []),
    ...(controller.problems?.() ?? []),
  ]
}

function healthOf(service: ServiceName, parts: ControllerParts, made: Made): ControllerHealth {
  const { election, controller } = made
  const { last_reconciliation } = controller.loop.health()
  const problems = problemsOf(service, parts, made)
  return {
    status: problems.length === 0 ? 'healthy' : 'degraded',
    is_leader: election.status().state === 'LEADER',
    instance_id: election.instanceId,
    last_reconciliation,
    ...controller.health(),
    problems,
  }
}
