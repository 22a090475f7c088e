import type { Client } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlLogins } from '@lcm/cloud/cml-logins'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { Election, Logger, Meter } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { DecisionLog } from '../../kit/decision-log.ts'
import type { SettingsNow } from '../../kit/settings-now.ts'
import type { LabletControllerConfig } from '../config.ts'
import type { Counters } from '../counters.ts'
import type { Definitions } from '../definitions.ts'
import type { WorkBoard } from '../work-board.ts'
import type { WorkerTurns } from '../worker-turns.ts'
import type { SessionMemory } from './session-memory.ts'

export interface SessionParts {
  readonly client: Client
  readonly labs: CmlLabs
  readonly logins: CmlLogins
  readonly changeKeys: ChangeKeys
  readonly election: Election
  readonly decisions: DecisionLog
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  readonly config: LabletControllerConfig
  readonly settings: SettingsNow
  readonly definitions: Definitions
  readonly counters: Counters
  readonly board: WorkBoard
  readonly turns: WorkerTurns
  readonly memory: SessionMemory
  /** Labs of a worker have changed by what we did. */
  labsChanged(workerId: string): void
}
