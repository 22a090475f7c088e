import type { Client } from '@lcm/client/client'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import type { Election, HostedService, Logger, Meter, Reconciliation } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { DecisionLog } from './decision-log.ts'

/** What every controller is made of, whatever it looks after. */
export interface ControllerParts {
  readonly client: Client
  readonly changeKeys: ChangeKeys
  readonly election: Election
  readonly decisions: DecisionLog
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
}

export interface Controller {
  /** Everything that only the leader does. */
  readonly service: HostedService
  readonly loop: Reconciliation
  /** The loops that run beside it, if there are any. */
  readonly others?: readonly Reconciliation[]
  /** What it would do next, and when. */
  plan(): readonly PlannedAction[]
  /** What it has done since it began, by name. */
  stats(): Readonly<Record<string, number>>
  /** What keeps it from its work and only a person can mend, each in a sentence. */
  problems?(): readonly string[]
  /** How much it looks after, such as `workers_managed`. */
  health(): Readonly<Record<`${string}_managed` | `${string}_with_drift`, number>>
}

/** Who leads no longer does not know how things are: what was remembered of them goes with the term. */
export const forgetfulOf = (service: HostedService, memory: { clear(): void }): HostedService => ({
  name: service.name,
  async run(signal, leadership) {
    try {
      await service.run(signal, leadership)
    } finally {
      memory.clear()
    }
  },
})
