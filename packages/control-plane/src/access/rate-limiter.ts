import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import type { Clock } from '@lcm/runtime/clock'

export interface AccessLimits {
  /** Sustained rate of one person or script. A body counts as one request per KiB. */
  readonly requestsPerSecond: number
  /** Requests above the sustained rate that are allowed at once. */
  readonly burst: number
  /** Factor by which controllers may exceed both. */
  readonly controllerFactor: number
  readonly actorsMax: number
  /** Wrong tokens and login links from one address. */
  readonly failuresPerMinute: number
  readonly addressesMax: number
}

export const ACCESS_LIMITS: AccessLimits = {
  requestsPerSecond: 1_000,
  burst: 2_000,
  controllerFactor: 10,
  actorsMax: 10_000,
  failuresPerMinute: 20,
  addressesMax: 10_000,
}

interface BoundedMap<V> {
  get(key: string): V | undefined
  /** Stores the value as the newest entry. */
  set(key: string, value: V): void
  delete(key: string): void
  clear(): void
}

/** Evicts the oldest entry above `entriesMax`, so that unknown callers can't fill the memory. */
export function boundedMap<V>(entriesMax: number): BoundedMap<V> {
  const entries = new Map<string, V>()
  return {
    get: key => entries.get(key),
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      for (const oldest of entries.keys()) {
        if (entries.size <= entriesMax) break
        entries.delete(oldest)
      }
    },
    delete: key => void entries.delete(key),
    clear: () => entries.clear(),
  }
}

interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

/** Bytes of a body that cost as much as a request. */
const BYTES_PER_REQUEST = 1024

export interface RateLimiter {
  take(actor: Actor, bodyBytes?: number): void
}

/** Token bucket per caller. A large body may overdraw it, so that it is accepted, and its sender then waits. */
export function rateLimiter(clock: Clock, limits: AccessLimits): RateLimiter {
  const buckets = boundedMap<Bucket>(limits.actorsMax)
  return {
    take(actor, bodyBytes = 0) {
      const factor = actor.role === 'controller' ? limits.controllerFactor : 1
      const perSecond = limits.requestsPerSecond * factor
      const burst = limits.burst * factor
      if (!Number.isFinite(perSecond)) return
      const atMs = clock.monotonic()
      const before = buckets.get(actor.id) ?? { tokens: burst, atMs }
      const tokens = Math.min(burst, before.tokens + ((atMs - before.atMs) / 1000) * perSecond)
      const cost = tokens < 1 ? 0 : Math.max(1, bodyBytes / BYTES_PER_REQUEST)
      buckets.set(actor.id, { tokens: tokens - cost, atMs })
      if (tokens >= 1) return
      const detail = `${actor.name} may make ${perSecond} requests or send ${perSecond} KiB a second; wait a moment`
      const retryAfterSeconds = Math.ceil((1 - tokens) / perSecond)
      throw new ProblemError('rate_limited', detail, undefined, { retryAfterSeconds })
    },
  }
}
