import type { VirtualTime } from '@lcm/testkit/virtual-time'
import type { Invariants } from '../invariants/invariants.ts'
import { HOUR_MS, MINUTE_MS } from './durations.ts'

/** Trace lines that a failure shows. */
const TRACE_LINES = 30

/** A run that violated an invariant. */
export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure'
  /** The first violation. */
  readonly rule: string
  readonly atMs: number

  constructor(rule: string, atMs: number, message: string) {
    super(message)
    this.rule = rule
    this.atMs = atMs
  }
}

export interface TimeControl {
  /** Throws if an invariant was violated. */
  throwIfViolated(): void
  failure(message: string): SimulationFailure
  runFor(ms: number): Promise<void>
  untilTrue(what: string, condition: () => boolean, limitMs?: number): Promise<void>
}

/** Advances virtual time and checks invariants after every step. */
export function timeControl(time: VirtualTime, checks: Invariants, steps: readonly (() => void)[]): TimeControl {
  const failure = (message: string) => {
    const violations = [`seed ${time.seed}: ${message}`, ...checks.violations]
    const rule = checks.violations[0] ?? message
    const text = [...violations, ...time.recentTrace().slice(-TRACE_LINES)].join('\n')
    return new SimulationFailure(rule, time.clock.monotonic(), text)
  }
  const throwIfViolated = () => {
    if (checks.violations.length > 0) throw failure('an invariant was violated')
  }
  async function runUntil(condition: () => boolean, limitMs: number): Promise<boolean> {
    let isMet = false
    const isEnough = () => {
      for (const step of steps) step()
      isMet ||= condition()
      return isMet || checks.violations.length > 0
    }
    try {
      await time.runUntil(isEnough, limitMs)
    } catch (error) {
      throw failure(String(error))
    }
    throwIfViolated()
    return isMet
  }
  return {
    throwIfViolated,
    failure,
    async runFor(ms) {
      await runUntil(() => false, ms)
    },
    async untilTrue(what, condition, limitMs = HOUR_MS) {
      const isMet = await runUntil(condition, limitMs)
      if (!isMet) throw failure(`${what} did not happen within ${limitMs / MINUTE_MS} min`)
    },
  }
}
