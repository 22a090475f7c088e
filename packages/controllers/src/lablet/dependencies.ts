import type { Client } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { Election, Logger, Meter } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { DecisionLog } from '../kit/decision-log.ts'
import type { SettingsCache } from '../kit/settings-cache.ts'
import type { TermMemory } from '../kit/term-memory.ts'
import type { LabletControllerConfig } from './config.ts'
import type { DefinitionCache } from './definition-cache.ts'
import type { LabletCounters } from './report.ts'
import type { SaveQueue } from './saves/save-queue.ts'
import type { LabletMemory } from './term-memory.ts'
import type { WorkerSlots } from './worker-concurrency-limit.ts'

export interface LabletDependencies {
  readonly client: Client
  readonly labs: CmlLabs
  readonly logins: CmlLoginResolver
  readonly changeKeys: ChangeKeys
  readonly election: Election
  readonly decisions: DecisionLog
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  readonly config: LabletControllerConfig
  readonly settings: SettingsCache
  readonly definitions: DefinitionCache
  readonly counters: LabletCounters
  readonly slots: WorkerSlots
  readonly saves: SaveQueue
  readonly memory: TermMemory<LabletMemory>
  /** Reports that this controller has changed labs of a worker. */
  labsChanged(workerId: string): void
}
