import { allOf, leaderElected } from '@lcm/runtime'
import { type Controller, type ControllerParts, forgetfulOf } from '../kit/controller.ts'
import { cleanupLoop } from './cleanup-loop.ts'
import type { ResourceSchedulerConfig } from './config.ts'
import { definitionCache } from './observe.ts'
import { purchases } from './purchases.ts'
import { cycleLoop } from './reconciler.ts'
import { schedulerCounters } from './report.ts'
import { board } from './term-memory.ts'

export interface ResourceSchedulerParts extends ControllerParts {
  readonly config: ResourceSchedulerConfig
}

/** Places sessions, asks for workers and cleans up after them, all under one leadership. */
export function resourceScheduler(parts: ResourceSchedulerParts): Controller {
  const counted = { ...parts, counters: schedulerCounters(parts.meter) }
  const shared = {
    ...counted,
    board: board(parts.meter),
    definitions: definitionCache(parts.client),
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
