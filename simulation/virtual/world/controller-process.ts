import { apiClock } from '@lcm/controllers/kit/api-clock'
import type { Controller } from '@lcm/controllers/kit/controller-types'
import type { LocalCoordination } from '@lcm/coordination/local/coordination'
import type { Reason } from '@lcm/domain/reason'
import type { HostedService } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Incarnation } from './port-calls.ts'

/** A process of a controller. */
export interface ControllerProcess extends Pick<Controller, 'plan' | 'stats'> {
  problems(): readonly Reason[]
  readonly instanceId: string
  /** Whether that incarnation belongs to this process. */
  isIncarnation(incarnation: Incarnation): boolean
  /** Dies at once, as by kill -9. */
  kill(): void
  /** Stops as by SIGSTOP until it is thawed. */
  freeze(): void
  thaw(): void
  /** Sets the wall clock of this process only. */
  jumpClock(ms: number): void
}

/** How far a controller's clock may be ahead of the API's before a response corrects it. */
export const CLOCK_MS_MAX = 3_000

/** The clock that `serve` gives a controller: synchronized with the API by the `Date` of every response. */
export function syncedClock({ clock: own }: Incarnation, clockOf: (clock: Clock, own: Clock) => Clock) {
  const { clock, hearing } = apiClock(own)
  return { clock: clockOf(clock, own), hearing }
}

interface Running {
  readonly instanceId: string
  readonly incarnation: Incarnation
  readonly coordination: LocalCoordination
  readonly companion: HostedService
  run(service: HostedService): () => void
}

/** Runs a controller and its companion service until it is killed. */
export function processOf(controller: Controller, running: Running): ControllerProcess {
  const { instanceId, incarnation, coordination, run } = running
  const abandoned = [controller.service, running.companion].map(run)
  return {
    instanceId,
    isIncarnation: each => each === incarnation,
    plan: controller.plan,
    problems: () => controller.problems?.() ?? [],
    stats: controller.stats,
    freeze: incarnation.freeze,
    thaw: incarnation.thaw,
    jumpClock: incarnation.jump,
    kill() {
      incarnation.end()
      coordination.faults.crash(instanceId)
      for (const abandon of abandoned) abandon()
    },
  }
}
