import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import { OUTAGE_MS } from '@lcm/domain/worker/decision/ec2-outage'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

/** An error of a server may be long; the log has all of it. */
const ERROR_CHARS_MAX = 300

/**
 * Outages of the dependencies of this process, by name, such as `EC2 in us-east-1` or `the API`. An outage begins
 * with the first call that fails and ends with the next answer. It is a problem after 30 s and a second failure, so one failed call
 * is none.
 */
export interface Outages {
  answered(what: string): void
  /** `waitedMs`: how long the failed call had waited for an answer. */
  failed(what: string, error: unknown, waitedMs?: number): void
  /** When the present outage began, by the wall clock; null while it answers. */
  since(what: string): number | null
  /** The same, but null until the outage counts as a problem. */
  problemSince(what: string): number | null
  /** One for each problem. Its error is the last one; the rest is the same for the whole outage. */
  problems(): readonly Reason[]
  forget(what: string): void
  clear(): void
}

interface Outage {
  readonly sinceMs: number
  /** Monotonic: the wall clock may be set. */
  readonly beganMs: number
  failures: number
  error: unknown
  isLogged: boolean
}

export function outages({ clock, logger }: { clock: Clock; logger: Logger }): Outages {
  const current = new Map<string, Outage>()
  const isProblem = ({ beganMs, failures }: Outage) => failures > 1 && clock.monotonic() - beganMs >= OUTAGE_MS

  function log(what: string, outage: Outage): void {
    if (outage.isLogged || !isProblem(outage)) return
    outage.isLogged = true
    logger.warn({ err: outage.error, since: toInstant(outage.sinceMs) }, `${what} does not answer`)
  }

  return {
    answered(what) {
      const outage = current.get(what)
      if (outage === undefined) return
      current.delete(what)
      const seconds = Math.round((clock.monotonic() - outage.beganMs) / 1000)
      if (outage.isLogged) logger.info({ seconds, since: toInstant(outage.sinceMs) }, `${what} answers again`)
    },
    failed(what, error, waitedMs = 0) {
      const outage = current.get(what) ?? {
        sinceMs: clock.now() - waitedMs,
        beganMs: clock.monotonic() - waitedMs,
        failures: 0,
        error,
        isLogged: false,
      }
      outage.failures += 1
      outage.error = error
      current.set(what, outage)
      log(what, outage)
    },
    since: what => current.get(what)?.sinceMs ?? null,
    problemSince(what) {
      const outage = current.get(what)
      return outage !== undefined && isProblem(outage) ? outage.sinceMs : null
    },
    problems: () => [...current].flatMap(([what, outage]) => (isProblem(outage) ? [reasonOf(what, outage)] : [])),
    forget: what => void current.delete(what),
    clear: () => current.clear(),
  }
}

/** Wraps calls to `what`, so that each counts as answered or failed. */
export const watchedCalls =
  (outages: Outages, what: string) =>
  <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
  async (...args: A): Promise<R> => {
    try {
      const answer = await call(...args)
      outages.answered(what)
      return answer
    } catch (error) {
      outages.failed(what, error)
      throw error
    }
  }

const reasonOf = (dependency: string, { sinceMs, error }: Outage): Reason =>
  reason('dependency_outage', { dependency, since: toInstant(sinceMs), error: wordsOf(error) })

const wordsOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, ERROR_CHARS_MAX)
