import { totalMs } from '../calendar/machine-calendar.ts'
import type { Machine, Placed } from './machine-state.ts'
import { bestOption, type Fleet, putOn, removeFrom, take } from './place-tasks.ts'

const HOUR_MS = 3_600_000
/** Sessions move for more than this only, so that plans stay alike. */
export const SAVED_USD_MIN = 0.5
const PASSES_MAX = 2

/**
 * Empties machines for as long as they are awake without a pause, where their sessions cost less on others. A machine that was
 * started for sessions keeps them: it would have been started in vain.
 */
export function emptyMachines(fleet: Fleet): void {
  for (let pass = 0, isBetter = true; isBetter && pass < PASSES_MAX; pass += 1) {
    isBetter = false
    for (const machine of fleet.machines)
      for (const stretch of stretchesOf(machine))
        if (!isStartedFor(machine, stretch) && empty(machine, stretch, fleet)) isBetter = true
  }
}

const isStartedFor = ({ isOn, isServing, worker }: Machine, stretch: readonly Placed[]): boolean =>
  isOn && (!isServing || stretch.some(({ task }) => worker?.wanted_by.includes(task.session.id)))

/** The sessions between two sleeps. */
function stretchesOf({ placed, times }: Machine): Placed[][] {
  const stretches: Placed[][] = []
  let untilMs = Number.NEGATIVE_INFINITY
  for (const each of placed.toSorted((a, b) => a.span.fromMs - b.span.fromMs)) {
    if (each.span.fromMs - untilMs >= times.wakeMs + times.stopMs) stretches.push([])
    stretches.at(-1)?.push(each)
    untilMs = Math.max(untilMs, each.span.untilMs)
  }
  return stretches
}

const usdOf = ({ calendar, times, usdPerHour }: Machine): number => (totalMs(calendar, times) * usdPerHour) / HOUR_MS

/** Nothing changes unless it saves money. */
function empty(machine: Machine, stretch: readonly Placed[], fleet: Fleet): boolean {
  const before = usdOf(machine)
  for (const each of stretch) removeFrom(machine, each)
  let leftUsd = before - usdOf(machine) - SAVED_USD_MIN
  const others = fleet.machines.filter(each => each !== machine && (each.isOn || each.placed.length > 0))
  // Only machines that run anyway: they need neither a license nor a vacancy.
  const target: Fleet = { ...fleet, offers: [], seats: new Map(), budgets: [] }
  const moved: { readonly to: Machine; readonly placed: Placed }[] = []
  for (const { task, span } of stretch) {
    const option = leftUsd > 0 ? bestOption(task, target, others) : null
    leftUsd -= option?.usd ?? 0
    if (option === null || option.span.fromMs > span.fromMs || !(leftUsd > 0)) {
      for (const { to, placed } of moved) removeFrom(to, placed)
      for (const each of stretch) putOn(machine, each)
      return false
    }
    moved.push({ to: option.machine, placed: take(option, task, target) })
  }
  return true
}
