import type { VirtualTime } from '@lcm/testkit/virtual-time'
import type { Invariants } from '../invariants/invariants.ts'
import { HOUR_MS, MINUTE_MS } from './durations.ts'

/** Trace lines that a failure shows. */
const TRACE_LINES = 30

/** A run that showed what must not be. */
export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure'
  /** What was broken first: the rule in a sentence. */
  readonly rule: string
  readonly atMs: number

  constructor(rule: string, atMs: number, message: string) {
    super(message)
    this.rule = rule
    this.atMs = atMs
  }
}

export interface TimeControl {
  /** Throws if anything that must hold did not. */
  judge(): void
  failure(message: string): SimulationFailure
  runFor(ms: number): Promise<void>
  untilTrue(what: string, isSo: () => boolean, limitMs?: number): Promise<void>
}

/** How time passes while somebody watches. */
export function timeControl(time: VirtualTime, watched: Invariants, steps: readonly (() => void)[]): TimeControl {
  const failure = (message: string) => {
    const said = [`seed ${time.seed}: ${message}`, ...watched.violations]
    const rule = watched.violations[0] ?? message
    const text = [...said, ...time.recentTrace().slice(-TRACE_LINES)].join('\n')
    return new SimulationFailure(rule, time.clock.monotonic(), text)
  }
  const judge = () => {
    if (watched.violations.length > 0) throw failure('what must hold did not')
  }
  async function runUntil(isSo: () => boolean, limitMs: number): Promise<boolean> {
    let isMet = false
    const isEnough = () => {
      for (const step of steps) step()
      isMet ||= isSo()
      return isMet || watched.violations.length > 0
    }
    try {
      await time.runUntil(isEnough, limitMs)
    } catch (error) {
      throw failure(String(error))
    }
    judge()
    return isMet
  }
  return {
    judge,
    failure,
    async runFor(ms) {
      await runUntil(() => false, ms)
    },
    async untilTrue(what, isSo, limitMs = HOUR_MS) {
      const isMet = await runUntil(isSo, limitMs)
      if (!isMet) throw failure(`${what} did not happen within ${limitMs / MINUTE_MS} min`)
    },
  }
}
