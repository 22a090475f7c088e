import type { ServiceName } from '@lcm/domain/actor'
import { type Reason, reason, sameReason } from '@lcm/domain/reason'
import type { HostedService, Reconciliation } from '@lcm/runtime'
import { type Clock, systemClock } from '@lcm/runtime/clock'
import type { AdminApi, ControllerHealth } from './admin-api.ts'
import type { Controller, ControllerParts } from './controller-types.ts'
import { decisionLog } from './decision-log.ts'
import { type Outages, outages } from './dependency-outages.ts'
import { type Heartbeat, heartbeat } from './heartbeat.ts'
import type { PromMeter } from './metrics.ts'
import { type RegisteredElection, registeredElection } from './registered-election.ts'

/** `waits_for` of `/ready` during the shutdown. */
export const ENDING = 'nothing: it was asked to end and accepts no new work'

/** The process around a controller: its own in the cluster profile, shared with the API in the embedded one. */
export interface ProcessParts extends Omit<ControllerParts, 'decisions' | 'clock'> {
  readonly version: string
  readonly meter: PromMeter
  /** The system clock, unless another is given. */
  readonly clock?: Clock
  /** Aborts when the process was asked to end. */
  readonly ending: AbortSignal
  /** The dependency that is missing, in a few words; null when all are there. */
  waitsFor(): string | null
  /** Problems of the process itself, as sentences. */
  problems(): readonly Reason[]
}

export interface ComposedController {
  /** Ends first. Leadership is given up once all reconciles have ended. */
  readonly work: HostedService
  /** Services that report the work; they end after it. */
  readonly reports: readonly HostedService[]
  /** Aborts reconciles and gives up leadership at once. */
  abandon(): void
  readonly admin: AdminApi
  readonly loop: Reconciliation
  /** Gauges are set only by this, so call it before the meter is read. */
  refreshGauges(): void
}

/** Adds what every controller needs: terms registered at the API, recorded decisions, a heartbeat and an admin API. */
export function composeController(
  service: ServiceName,
  parts: ProcessParts,
  create: (parts: ControllerParts) => Controller,
): ComposedController {
  const { client, changeKeys, logger, version, clock = systemClock } = parts
  const election = registeredElection({ election: parts.election, service, client, clock, logger })
  const decisions = decisionLog({ client, clock, logger, instanceId: election.instanceId })
  const controller = create({ ...parts, election, decisions, clock })
  const { loop, plan } = controller
  const dependencies = outages({ clock, logger })
  const composed = { service, parts, election, controller, outages: dependencies }
  const problems = () => problemsOf(composed)
  const reported = { election, loop, plan, problems, outages: dependencies }
  const beats = heartbeat({ service, version, client, changeKeys, ...reported, clock, logger })
  return {
    work: controller.service,
    reports: [decisions.service, beats],
    abandon: () =>
      void election.resign({ forGood: true }).catch(err => logger.error({ err }, 'leadership could not be given up')),
    admin: adminApi(composed, beats),
    loop,
    refreshGauges: () => refreshGauges(controller),
  }
}

interface Composed {
  readonly service: ServiceName
  readonly parts: ProcessParts
  readonly election: RegisteredElection
  readonly controller: Controller
  /** Outages of dependencies that all controllers share, such as the API. */
  readonly outages: Outages
}

function adminApi(composed: Composed, beats: Heartbeat): AdminApi {
  const { service, parts, election, controller } = composed
  return {
    service,
    version: parts.version,
    health: () => healthOf(composed),
    waitsFor: () =>
      missingForReady({
        isEnding: parts.ending.aborted,
        dependency: parts.waitsFor(),
        heartbeatFailure: beats.failure(),
        loop: controller.loop.health(),
      }),
    leader: () => election.status(),
    metrics() {
      refreshGauges(controller)
      return parts.meter.text()
    },
    stats: controller.stats,
    plan: controller.plan,
    trigger: () => controller.loop.triggerNow(),
    resign: () => election.resign(),
  }
}

function refreshGauges(controller: Controller): void {
  for (const loop of loopsOf(controller)) loop.health()
  controller.stats()
}

const loopsOf = ({ loop, others = [] }: Controller): readonly Reconciliation[] => [loop, ...others]

interface Readiness {
  readonly isEnding: boolean
  readonly dependency: string | null
  readonly heartbeatFailure: string | null
  readonly loop: { readonly running: boolean; readonly last_sweep: string | null }
}

/** The first missing condition; null when ready. A standby that could take over is as ready as a leader after its first sweep. */
export function missingForReady({ isEnding, dependency, heartbeatFailure, loop }: Readiness): string | null {
  if (isEnding) return ENDING
  if (dependency !== null) return dependency
  if (heartbeatFailure !== null) return `the API: ${heartbeatFailure}`
  return loop.running && loop.last_sweep === null ? 'the end of its first listing' : null
}

/** The problems of a process: its health, its heartbeat and `lcm doctor` show the same list. */
function problemsOf({ service, parts, election, controller, outages }: Composed): readonly Reason[] {
  return [
    ...parts.problems(),
    ...outages.problems(),
    ...(election.isEpochRegressed() ? [reason('epoch_regressed', { service })] : []),
    ...(loopsOf(controller).some(loop => loop.health().status === 'degraded') ? [reason('watch_degraded')] : []),
    ...(controller.problems?.() ?? []),
  ]
}

function healthOf(composed: Composed): ControllerHealth {
  const { election, controller } = composed
  const { last_reconciliation } = controller.loop.health()
  const problems = problemsOf(composed)
  return {
    status: problems.length === 0 ? 'healthy' : 'degraded',
    is_leader: election.status().state === 'LEADER',
    instance_id: election.instanceId,
    last_reconciliation,
    ...controller.health(),
    problems,
  }
}

/** The health of a process that runs several controllers; `own` are the problems of the process itself. */
export function combinedHealth(
  controllers: readonly Pick<ComposedController, 'loop' | 'admin'>[],
  own: readonly Reason[],
) {
  const services = controllers.map(({ loop, admin }) => {
    const { status, problems } = admin.health()
    return { ...loop.health(), status, problems }
  })
  // All controllers call the same API, so each reports the same outage.
  const all = [...own, ...services.flatMap(service => service.problems)]
  const problems = all.filter((problem, index) => all.findIndex(each => sameReason(each, problem)) === index)
  return { status: problems.length === 0 ? 'healthy' : 'degraded', problems, services }
}
