import type { Client } from '@lcm/client/client'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import {
  allOf,
  type Election,
  type HostedService,
  type Logger,
  leaderElected,
  type Meter,
  type Reconciliation,
} from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { DecisionLog } from '@lcm/service/decision-log'
import { type Board, board } from './board.ts'
import { cleanupLoop } from './cleanup-loop.ts'
import type { ResourceSchedulerConfig } from './config.ts'
import { counters } from './counters.ts'
import { cycleLoop } from './cycle-loop.ts'
import { knownDefinitions } from './known-definitions.ts'
import { purchases } from './purchases.ts'

export interface ResourceSchedulerParts {
  readonly client: Client
  readonly changeKeys: ChangeKeys
  readonly election: Election
  readonly decisions: DecisionLog
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  readonly config: ResourceSchedulerConfig
}

export interface ResourceScheduler {
  /** Everything that only the leader does. */
  readonly service: HostedService
  readonly loop: Reconciliation
  /** Who waits for a place and why, and who is given one later. */
  plan(): readonly PlannedAction[]
  stats(): Readonly<Record<string, number>>
  health(): { readonly sessions_managed: number }
}

/** Places sessions, asks for workers and cleans up after them, all under one leadership. */
export function resourceScheduler(parts: ResourceSchedulerParts): ResourceScheduler {
  const counted = { ...parts, counters: counters(parts.meter) }
  const shared = {
    ...counted,
    board: board(parts.meter),
    definitions: knownDefinitions(parts.client),
    purchases: purchases(counted),
    held: new Map<string, number>(),
  }
  const loop = cycleLoop(shared)
  const led = forgetfulOf(allOf('resource-scheduler', [loop, cleanupLoop(shared)]), shared.board)
  return {
    service: leaderElected(led, parts.election),
    loop,
    plan: shared.board.plan,
    stats: () => ({ ...shared.counters.snapshot(), waiting_count: shared.board.sessionsWaiting() }),
    health: () => ({ sessions_managed: shared.board.sessionsManaged() }),
  }
}

/** Who leads no longer does not know who waits. */
const forgetfulOf = (service: HostedService, known: Board): HostedService => ({
  name: service.name,
  async run(signal, leadership) {
    try {
      await service.run(signal, leadership)
    } finally {
      known.clear()
    }
  },
})
