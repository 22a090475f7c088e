import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import type { Clock } from '@lcm/runtime/clock'
import type { AccessLimits } from './access-limits.ts'
import { boundedMap } from './bounded-map.ts'

interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

/** Token bucket per caller. */
export function rateLimiter(clock: Clock, limits: AccessLimits): { take(actor: Actor): void } {
  const buckets = boundedMap<Bucket>(limits.actorsMax)
  return {
    take(actor) {
      const factor = actor.role === 'controller' ? limits.controllerFactor : 1
      const perSecond = limits.requestsPerSecond * factor
      const burst = limits.burst * factor
      if (!Number.isFinite(perSecond)) return
      const atMs = clock.monotonic()
      const before = buckets.get(actor.id) ?? { tokens: burst, atMs }
      const tokens = Math.min(burst, before.tokens + ((atMs - before.atMs) / 1000) * perSecond)
      buckets.set(actor.id, { tokens: tokens < 1 ? tokens : tokens - 1, atMs })
      if (tokens >= 1) return
      const detail = `${actor.name} may make ${perSecond} requests a second; wait a moment`
      const retryAfterSeconds = Math.ceil((1 - tokens) / perSecond)
      throw new ProblemError('rate_limited', detail, undefined, { retryAfterSeconds })
    },
  }
}
