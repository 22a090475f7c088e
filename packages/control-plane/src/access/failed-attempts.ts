import { isIPv6 } from 'node:net'
import { ProblemError } from '@lcm/contract/problems'
import type { Clock } from '@lcm/runtime/clock'
import { type AccessLimits, boundedMap } from './rate-limiter.ts'

const WINDOW_MS = 60_000

interface Attempts {
  readonly sinceMs: number
  failed: number
  pending: number
  readonly waiting: (() => void)[]
}

export interface FailedAttempts {
  /**
   * Runs a check of a secret, unless its address sent too many wrong ones. Calls within a process have no address and no
   * limit.
   */
  guard<T>(remote: string | undefined, check: () => Promise<T>): Promise<T>
}

/** Concurrent checks could exceed the limit together, so a check that might be one too many waits for the earlier ones. */
export function failedAttempts(clock: Clock, limits: AccessLimits): FailedAttempts {
  const byAddress = boundedMap<Attempts>(limits.addressesMax)

  function currentOf(address: string): Attempts {
    const known = byAddress.get(address)
    if (known && clock.monotonic() - known.sinceMs < WINDOW_MS) return known
    const fresh: Attempts = { sinceMs: clock.monotonic(), failed: 0, pending: 0, waiting: [] }
    byAddress.set(address, fresh)
    return fresh
  }

  async function admitted(address: string): Promise<Attempts> {
    for (;;) {
      const attempts = currentOf(address)
      if (attempts.failed >= limits.failuresPerMinute) throw tooMany(attempts.sinceMs + WINDOW_MS - clock.monotonic())
      if (attempts.failed + attempts.pending < limits.failuresPerMinute) {
        attempts.pending += 1
        return attempts
      }
      await new Promise<void>(resolve => attempts.waiting.push(resolve))
    }
  }

  /** Waiting checks try again: there may be capacity, too many failures, or a new minute. */
  function settle(address: string, attempts: Attempts, failed: boolean): void {
    attempts.pending -= 1
    if (failed) attempts.failed += 1
    for (const wake of attempts.waiting.splice(0)) wake()
    const isIdle = attempts.failed === 0 && attempts.pending === 0 && attempts.waiting.length === 0
    if (isIdle && byAddress.get(address) === attempts) byAddress.delete(address)
  }

  return {
    async guard(remote, check) {
      if (remote === undefined) return check()
      const address = addressKey(remote)
      const attempts = await admitted(address)
      let failed = false
      try {
        return await check()
      } catch (error) {
        failed = isWrongSecret(error)
        throw error
      } finally {
        settle(address, attempts, failed)
      }
    },
  }
}

const isWrongSecret = (error: unknown): boolean =>
  error instanceof ProblemError && (error.code === 'unauthenticated' || error.code === 'login_code_invalid')

const tooMany = (waitMs: number) =>
  new ProblemError('too_many_attempts', 'too many wrong tokens or login links came from your address', undefined, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })

/** One subscriber usually has a /64 of IPv6 addresses, which counts as one address. */
export function addressKey(remote: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(remote)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(remote)) return remote
  const [head = '', tail] = remote.toLowerCase().split('%')[0]?.split('::') ?? []
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}
