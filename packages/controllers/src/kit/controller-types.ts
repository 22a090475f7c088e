import type { Client } from '@lcm/client/client'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { Reason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import type { Election, HostedService, Logger, Meter, Reconciliation } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { DecisionLog } from './decision-log.ts'

/** Dependencies of every controller. */
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
  /** All loops; they run only while this instance leads. */
  readonly service: HostedService
  readonly loop: Reconciliation
  /** Further loops with a health of their own. */
  readonly others?: readonly Reconciliation[]
  /** The next actions, with the time each is due. */
  plan(): readonly PlannedAction[]
  /** Counters since the process started, by name. */
  stats(): Readonly<Record<string, number>>
  /** Problems that only an operator can fix, each in a sentence. */
  problems?(): readonly Reason[]
  /** Counts of managed resources, such as `workers_managed`. */
  health(): Readonly<Record<`${string}_managed` | `${string}_with_drift`, number>>
}
