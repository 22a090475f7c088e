import { allOf, leaderElected } from '@lcm/runtime'
import type { Controller, ControllerParts } from '../kit/controller-types.ts'
import { termMemory } from '../kit/term-memory.ts'
import { timingsCache } from '../kit/timings-cache.ts'
import type { ResourceSchedulerConfig } from './config.ts'
import { definitionCache } from './observe.ts'
import { purchases } from './purchases.ts'
import { cycleLoop } from './reconciler.ts'
import { schedulerCounters } from './report.ts'
import { schedulerGauges, schedulerMemory } from './term-memory.ts'
import { cleanupLoop } from './worker-record-cleanup-loop.ts'

export interface ResourceSchedulerParts extends ControllerParts {
  readonly config: ResourceSchedulerConfig
}

/** Places sessions, requests workers and cleans up old ones, all in one leadership term. */
export function resourceScheduler(parts: ResourceSchedulerParts): Controller {
  const counting = schedulerCounters(parts.meter)
  const gauges = schedulerGauges(parts.meter)
  const memory = termMemory(() => schedulerMemory(gauges))
  const shared = {
    ...parts,
    memory,
    counters: counting,
    definitions: definitionCache(parts.client),
    timings: timingsCache(parts),
    purchases: purchases({ ...parts, counters: counting }),
  }
  const loop = cycleLoop(shared)
  const all = allOf('resource-scheduler', [loop, cleanupLoop(shared)])
  return {
    service: leaderElected(memory.during(all), parts.election),
    loop,
    plan: () => memory.current().plan(),
    stats: () => ({ ...counting.snapshot(), waiting_count: memory.current().sessionsWaiting() }),
    health: () => ({ sessions_managed: memory.current().sessionsManaged() }),
  }
}
