import type { ControllerFace, ControllerHealth } from '@lcm/controllers/kit/admin-api'
import type { Controller, ControllerParts as Shared } from '@lcm/controllers/kit/controller'
import { type DecisionLog, decisionLog } from '@lcm/controllers/kit/decision-log'
import { type Heartbeat, heartbeat } from '@lcm/controllers/kit/heartbeat'
import { type Outages, outages } from '@lcm/controllers/kit/outages'
import type { PromMeter } from '@lcm/controllers/kit/prom-meter'
import { type RegisteredElection, registeredElection } from '@lcm/controllers/kit/registered-election'
import type { ServiceName } from '@lcm/domain/actor'
import type { HostedService, Reconciliation } from '@lcm/runtime'
import { type Clock, systemClock } from '@lcm/runtime/clock'
import { ENDING } from './close-all.ts'
import { VERSION } from './version.ts'

/** What every controller is given, in a process of its own and beside the API. */
export interface ControllerParts extends Omit<Shared, 'decisions' | 'clock'> {
  readonly meter: PromMeter
  /** The system's, unless another is given. */
  readonly clock?: Clock
  /** Aborts when the process was asked to end. */
  readonly ending: AbortSignal
  /** What it can not begin without, in a few words; null when it is there. */
  waitsFor(): string | null
  /** What is wrong around it, as sentences. */
  problems(): readonly string[]
}

export interface ComposedController {
  /** What it is there for. It ends first; its seat is given up when all that was under way has ended. */
  readonly work: HostedService
  /** What tells of the work, to the end of it. */
  readonly reports: readonly HostedService[]
  /** Calls off what is under way and gives the seat up at once. */
  abandon(): void
  readonly face: ControllerFace
  readonly loop: Reconciliation
  /** Sets its gauges to what is so now: they are told by whoever reads the meter, and nobody sets them meanwhile. */
  measure(): void
}

/** A controller with all that belongs to it: terms that the API knows, decisions on record, a heartbeat, a face. */
export function compose(
  service: ServiceName,
  parts: ControllerParts,
  make: (shared: { election: RegisteredElection; decisions: DecisionLog; clock: Clock }) => Controller,
): ComposedController {
  const { client, changeKeys, logger } = parts
  const { clock = systemClock } = parts
  const election = registeredElection({ election: parts.election, service, client, clock, logger })
  const decisions = decisionLog({ client, clock, logger, instanceId: election.instanceId })
  const controller = make({ election, decisions, clock })
  const { loop, plan } = controller
  const silent = outages({ clock, logger })
  const made = { election, controller, outages: silent }
  const problems = () => problemsOf(service, parts, made)
  const told = { election, loop, plan, problems, outages: silent }
  const beats = heartbeat({ service, version: VERSION, client, changeKeys, ...told, clock, logger })
  return {
    work: controller.service,
    reports: [decisions.service, beats],
    abandon: () => void election.resign({ forGood: true }).catch(err => logger.error({ err }, 'the seat was kept')),
    face: faceOf(service, parts, { ...made, beats }),
    loop,
    measure: () => measure(controller),
  }
}

interface Made {
  readonly election: RegisteredElection
  readonly controller: Controller
  /** Of what every controller needs, such as the API. */
  readonly outages: Outages
}

function faceOf(
  service: ServiceName,
  parts: ControllerParts,
  made: Made & { readonly beats: Heartbeat },
): ControllerFace {
  const { election, controller } = made
  return {
    service,
    version: VERSION,
    health: () => healthOf(service, parts, made),
    waitsFor: () =>
      awaited({
        isEnding: parts.ending.aborted,
        around: parts.waitsFor(),
        unheard: made.beats.unheard(),
        loop: controller.loop.health(),
      }),
    leader: () => election.status(),
    metrics() {
      measure(controller)
      return parts.meter.text()
    },
    stats: controller.stats,
    plan: controller.plan,
    trigger: () => controller.loop.triggerNow(),
    resign: () => election.resign(),
  }
}

function measure(controller: Controller): void {
  for (const loop of loopsOf(controller)) loop.health()
  controller.stats()
}

const loopsOf = ({ loop, others = [] }: Controller): readonly Reconciliation[] => [loop, ...others]

interface Readiness {
  readonly isEnding: boolean
  /** What is missing around it. */
  readonly around: string | null
  /** Why the API does not hear it. */
  readonly unheard: string | null
  readonly loop: { readonly running: boolean; readonly last_sweep: string | null }
}

/** What comes first of what it waits for. A standby that could take over is as ready as a leader that has seen everything. */
export function awaited({ isEnding, around, unheard, loop }: Readiness): string | null {
  if (isEnding) return ENDING
  if (around !== null) return around
  if (unheard !== null) return `the API: ${unheard}`
  return loop.running && loop.last_sweep === null ? 'the end of its first listing' : null
}

const WATCH_DEGRADED = 'the watch is degraded; polling goes on'

/** The one list of problems of a process: its health, its heartbeat and `lcm doctor` show the same. */
function problemsOf(service: ServiceName, parts: ControllerParts, made: Made): readonly string[] {
  const { election, controller } = made
  const regressed = `epoch_regressed: the API has seen a newer term; run: lcm services reset-term ${service}`
  return [
    ...parts.problems(),
    ...made.outages.problems(),
    ...(election.isEpochRegressed() ? [regressed] : []),
    ...(loopsOf(controller).some(loop => loop.health().status === 'degraded') ? [WATCH_DEGRADED] : []),
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

/** The health of a process that runs all of them; `own` are the problems of the process itself. */
export function healthOfAll(controllers: readonly Pick<ComposedController, 'loop' | 'face'>[], own: readonly string[]) {
  const services = controllers.map(({ loop, face }) => {
    const { status, problems } = face.health()
    return { ...loop.health(), status, problems }
  })
  // All controllers here ask the same API: what they say of it is said once.
  const problems = [...new Set([...own, ...services.flatMap(service => service.problems)])]
  return { status: problems.length === 0 ? 'healthy' : 'degraded', problems, services }
}
