import type { Act } from '../acts/act.ts'
import type { Plan } from '../acts/plan.ts'
import { SimulationFailure } from '../world/time-control.ts'
import { type RunOptions, wholeRun } from './whole-run.ts'

export interface Shrunk {
  readonly plan: Plan
  readonly failure: SimulationFailure
  /** How many runs it took. */
  readonly runs: number
}

export interface ShrinkOptions extends Pick<RunOptions, 'defects'> {
  /** Whether there is time for another run. */
  mayGoOn(): boolean
  onProgress?(actsLeft: number): void
}

/** Violations that only show at the end of a run; others show at about the same time as before. */
const SHOWS_AT_THE_END = /never reached|settled fleet|is lost without a record|its journal ends with/
const MARGIN_MS = 30 * 60_000

/** Acts up to this long after the violation may still have caused it. */
const AFTERWARDS_MS = 1_000

/** The failure of a run, or null. */
export async function failureOf(plan: Plan, options: RunOptions = {}): Promise<SimulationFailure | null> {
  try {
    await wholeRun(plan, options)
    return null
  } catch (error) {
    if (error instanceof SimulationFailure) return error
    throw error
  }
}

/** The rule without names, ids and numbers, which differ between runs. */
export const kindOf = ({ rule }: SimulationFailure): string =>
  (rule.split('\n')[0] ?? '')
    // First, because the end of such a name resembles an id.
    .replaceAll(/\bmetal-[0-9a-z]+/g, '*')
    .replaceAll(/\b(i|w|ls|lr|ld|c)-?[0-9a-z-]*\d[0-9a-z-]*/g, '*')
    .replaceAll(/\d+(\.\d+)?/g, '#')

/**
 * Finds the fewest acts that still break the same rule by leaving out ever smaller parts of the list (delta debugging, after
 * Zeller). Stops early when time is up.
 */
export async function shrink(plan: Plan, failure: SimulationFailure, options: ShrinkOptions): Promise<Shrunk> {
  const wanted = kindOf(failure)
  const untilMs = SHOWS_AT_THE_END.test(failure.rule) ? Number.POSITIVE_INFINITY : failure.atMs + MARGIN_MS
  let runs = 0
  let best = { acts: plan.acts.filter(({ atMs }) => atMs <= failure.atMs + AFTERWARDS_MS), failure }
  async function breaks(acts: readonly Act[]): Promise<boolean> {
    runs += 1
    const found = await failureOf({ ...plan, acts }, { defects: options.defects ?? {}, untilMs })
    if (found === null || kindOf(found) !== wanted) return false
    best = { acts: acts.filter(({ atMs }) => atMs <= found.atMs + AFTERWARDS_MS), failure: found }
    options.onProgress?.(best.acts.length)
    return true
  }
  for (let parts = 2; best.acts.length > 0 && options.mayGoOn(); ) {
    const size = Math.ceil(best.acts.length / parts)
    if (await leaveOutOne(best.acts, size, breaks, options)) parts = Math.max(2, parts - 1)
    else if (size === 1) break
    else parts = Math.min(best.acts.length, parts * 2)
  }
  return { plan: { ...plan, acts: best.acts }, failure: best.failure, runs }
}

/** Leaves out one part of that size at a time, the last first, until the rest still breaks the rule. */
async function leaveOutOne(
  acts: readonly Act[],
  size: number,
  breaks: (acts: readonly Act[]) => Promise<boolean>,
  { mayGoOn }: ShrinkOptions,
): Promise<boolean> {
  for (let end = acts.length; end > 0 && mayGoOn(); end -= size) {
    const rest = [...acts.slice(0, Math.max(0, end - size)), ...acts.slice(end)]
    if (await breaks(rest)) return true
  }
  return false
}
