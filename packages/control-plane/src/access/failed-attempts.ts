import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'
import { sha256 } from '../crypto.ts'
import type { Refusal } from './access-audit.ts'
import { addressKey } from './client-address.ts'
import { type AccessLimits, boundedMap } from './rate-limiter.ts'

const WINDOW_MS = 60_000
/** Concurrent lookups of unproven secrets per address. */
const LOOKUPS_MAX = 4
const PROVEN_MAX = 1_000
const WRONG_MAX = 10_000
/** Time for which a wrong secret is not looked up again once its address is over the limit. */
const WRONG_MS = 10_000
/** Start of a token that LCM made, and that lists of tokens may show. */
const TOKEN_PREFIX = /^lcm_.{8}/

export interface FailedAttempts {
  /**
   * Looks up a secret. A right one always works. A wrong one is counted by address and by token prefix, and is refused as
   * `too_many_attempts` above the limit. Calls within a process have no address and no limit.
   */
  check<T>(request: ApiRequest, secret: string, refusal: Refusal, lookup: () => Promise<T>): Promise<T>
  /** Looks up a secret that can't be guessed, such as a cookie. It counts against no limit; null means wrong. */
  find<T>(request: ApiRequest, secret: string, lookup: () => Promise<T | null>): Promise<T | null>
}

export function failedAttempts(parts: {
  clock: Clock
  limits: AccessLimits
  onRefused: (request: ApiRequest, refusal: Refusal) => void
}): FailedAttempts {
  const { clock, limits, onRefused } = parts
  const byAddress = failureCounter(clock, limits)
  const byPrefix = failureCounter(clock, limits)
  const lanes = lookupLanes(LOOKUPS_MAX)
  const proven = boundedMap<true>(PROVEN_MAX)
  const wrongSince = boundedMap<number>(WRONG_MAX)

  /** A secret that was right before never waits behind those of a stranger at the same address. */
  const inLane = <T>(remote: string, hash: string, lookup: () => Promise<T>): Promise<T> =>
    proven.get(hash) ? lookup() : lanes.run(addressKey(remote), lookup)

  const isKnownWrong = (hash: string): boolean =>
    clock.monotonic() - (wrongSince.get(hash) ?? Number.NEGATIVE_INFINITY) < WRONG_MS

  function tooMany(request: ApiRequest, waitMs: number): ProblemError {
    onRefused(request, 'too_many_attempts')
    const detail = 'too many wrong tokens or login links came from your address, or for this token'
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
    return new ProblemError('too_many_attempts', detail, undefined, { retryAfterSeconds })
  }

  return {
    async check(request, secret, refusal, lookup) {
      const { remote } = request
      if (remote === undefined) return lookup()
      const hash = sha256(secret)
      const prefix = TOKEN_PREFIX.exec(secret)?.[0]
      const counters = [byAddress.of(addressKey(remote)), ...(prefix === undefined ? [] : [byPrefix.of(prefix)])]
      const waitMs = () => Math.max(...counters.map(counter => counter.waitMs()))
      if (waitMs() > 0 && isKnownWrong(hash)) throw tooMany(request, waitMs())
      try {
        const found = await inLane(remote, hash, lookup)
        proven.set(hash, true)
        return found
      } catch (error) {
        if (!isWrongSecret(error)) throw error
        wrongSince.set(hash, clock.monotonic())
        const refusedMs = waitMs()
        for (const counter of counters) counter.add()
        if (refusedMs > 0) throw tooMany(request, refusedMs)
        onRefused(request, refusal)
        throw error
      }
    },
    async find(request, secret, lookup) {
      if (request.remote === undefined) return lookup()
      const hash = sha256(secret)
      const found = await inLane(request.remote, hash, lookup)
      if (found !== null) proven.set(hash, true)
      return found
    },
  }
}

const isWrongSecret = (error: unknown): boolean =>
  error instanceof ProblemError && (error.code === 'unauthenticated' || error.code === 'login_code_invalid')

interface Failures {
  readonly sinceMs: number
  count: number
}

/** Failures in a window of a minute, by key. */
function failureCounter(clock: Clock, limits: AccessLimits) {
  const windows = boundedMap<Failures>(limits.addressesMax)
  const current = (key: string): Failures | null => {
    const known = windows.get(key)
    return known && clock.monotonic() - known.sinceMs < WINDOW_MS ? known : null
  }
  return {
    of: (key: string) => ({
      add() {
        const failures = current(key) ?? { sinceMs: clock.monotonic(), count: 0 }
        failures.count += 1
        windows.set(key, failures)
      },
      /** Time until wrong secrets are answered again; 0 below the limit. */
      waitMs(): number {
        const failures = current(key)
        if (failures === null || failures.count < limits.failuresPerMinute) return 0
        return failures.sinceMs + WINDOW_MS - clock.monotonic()
      },
    }),
  }
}

interface Lane {
  running: number
  readonly waiting: (() => void)[]
}

/** Runs work at most `max` at a time per key, in order. */
function lookupLanes(max: number) {
  const lanes = new Map<string, Lane>()

  function leave(key: string, lane: Lane): void {
    const next = lane.waiting.shift()
    if (next !== undefined) {
      next()
      return
    }
    lane.running -= 1
    if (lane.running === 0) lanes.delete(key)
  }

  return {
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const lane = lanes.get(key) ?? { running: 0, waiting: [] }
      lanes.set(key, lane)
      if (lane.running < max) lane.running += 1
      else await new Promise<void>(resolve => lane.waiting.push(resolve))
      try {
        return await work()
      } finally {
        leave(key, lane)
      }
    },
  }
}
