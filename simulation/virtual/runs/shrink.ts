import type { Act } from '../acts/act.ts'
import type { Plan } from '../acts/plan.ts'
import { SimulationFailure } from '../world/advance-time.ts'
import { type RunOptions, wholeRun } from './whole-run.ts'

export interface Shrunk {
  readonly plan: Plan
  readonly failure: SimulationFailure
  /** How many runs it took. */
  readonly runs: number
}

export interface ShrinkOptions extends Pick<RunOptions, 'defects'> {
  /** Asked before every run: whether there is time for another one. */
  mayGoOn(): boolean
  onProgress?(actsLeft: number): void
}

/** What shows only at the end needs the whole run; anything else shows by about when it showed first. */
const SHOWS_AT_THE_END = /did not come|at rest|is lost without a record|its journal says/
const MARGIN_MS = 30 * 60_000

/** Acts that happened later than what they are blamed for by less than this may still have led to it. */
const AFTERWARDS_MS = 1_000

/** The failure of a run, or null where everything held. */
export async function failureOf(plan: Plan, options: RunOptions = {}): Promise<SimulationFailure | null> {
  try {
    await wholeRun(plan, options)
    return null
  } catch (error) {
    if (error instanceof SimulationFailure) return error
    throw error
  }
}

/** The same rule, whoever broke it: names, ids and numbers differ from run to run. */
export const kindOf = ({ rule }: SimulationFailure): string =>
  (rule.split('\n')[0] ?? '')
    // First, or the end of such a name is taken for an id.
    .replaceAll(/\bmetal-[0-9a-z]+/g, '*')
    .replaceAll(/\b(i|w|ls|lr|ld|c)-?[0-9a-z-]*\d[0-9a-z-]*/g, '*')
    .replaceAll(/\d+(\.\d+)?/g, '#')

/**
 * The fewest acts that still break the same rule, found by leaving out ever smaller parts of the list (delta debugging, after
 * Zeller). Ends early when time is up: what is left is then merely short.
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

/** Tries the list without each part of that size in turn, the last first, until one still breaks the rule. */
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
