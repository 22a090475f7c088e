import { isRunnable, type LabSpan, type MachineModel, type MachineTime, machineTime } from './machine-model.ts'
import {
  addedMs,
  aloneMs,
  emptyLoad,
  hasCapacity,
  type Load,
  put,
  remove,
  type Timeline,
  type TimelineLab,
  timeOf,
} from './machine-timeline.ts'
import { sharesOf } from './packing-bound.ts'

export interface FeasibleSchedule extends MachineTime {
  /** By machine. */
  readonly labs: readonly (readonly LabSpan[])[]
}

/**
 * A schedule that could be carried out by those who know every start and end: each lab stays on one machine, and no machine is
 * overfull. For each stretch without a pause it takes the best of twelve greedy orders and improves it by local search. The
 * cheapest schedule is between the lower bound and this one.
 */
export function feasibleSchedule(spans: readonly LabSpan[], machine: MachineModel): FeasibleSchedule {
  const labs: LabSpan[][] = []
  let [ms, boots] = [0, 0]
  for (const stretch of stretchesOf(spans, machine)) {
    const timeline = timelineOf(stretch, machine)
    const loads = improved(timeline, bestGreedy(timeline, onTimeline(stretch, timeline, machine)))
    for (const [at, load] of loads.entries()) {
      const time = timeOf(timeline, load)
      ms += time.ms
      boots += time.boots
      const held = labs[at] ?? []
      labs[at] = held
      held.push(...[...load.labs].map(({ span }) => span))
    }
  }
  return { ...machineTime(machine, { ms, boots, machines: labs.length }), labs }
}

/** All machines sleep between two stretches, so that each is solved alone. */
function stretchesOf(spans: readonly LabSpan[], machine: MachineModel): LabSpan[][] {
  const stretches: LabSpan[][] = []
  let until = Number.NEGATIVE_INFINITY
  for (const span of spans.filter(each => isRunnable(each, machine)).toSorted((a, b) => a.from_ms - b.from_ms)) {
    if (span.from_ms - until >= machine.boot_ms + machine.stop_ms) stretches.push([])
    stretches.at(-1)?.push(span)
    until = Math.max(until, span.until_ms)
  }
  return stretches
}

function timelineOf(stretch: readonly LabSpan[], { boot_ms, stop_ms }: MachineModel): Timeline {
  const moments = new Set(stretch.flatMap(({ from_ms, until_ms }) => [from_ms, until_ms]))
  return { momentsMs: [...moments].sort((a, b) => a - b), boot_ms, sleep_min_ms: boot_ms + stop_ms }
}

function onTimeline(
  stretch: readonly LabSpan[],
  { momentsMs }: Timeline,
  { capacity }: MachineModel,
): readonly TimelineLab[] {
  const positions = new Map(momentsMs.map((moment, at) => [moment, at]))
  return stretch.map(span => ({
    span,
    from: positions.get(span.from_ms) ?? 0,
    until: positions.get(span.until_ms) ?? 0,
    shares: sharesOf(span.needs, capacity),
  }))
}

type Order = (a: TimelineLab, b: TimelineLab) => number
const size = ({ shares }: TimelineLab) => Math.max(...shares)
const length = ({ span }: TimelineLab) => span.until_ms - span.from_ms
const byStart: Order = (a, b) => a.from - b.from
const byEnd: Order = (a, b) => a.until - b.until
const byLatestEnd: Order = (a, b) => b.until - a.until
const byLength: Order = (a, b) => length(b) - length(a)
const bySize: Order = (a, b) => size(b) - size(a)
const byArea: Order = (a, b) => length(b) * size(b) - length(a) * size(a)
const inOrder =
  (...orders: readonly Order[]): Order =>
  (a, b) =>
    orders.reduce((found, order) => found || order(a, b), 0)

const ORDERS: readonly Order[] = [
  inOrder(byStart, byEnd, bySize),
  inOrder(byStart, byLatestEnd, bySize),
  inOrder(byStart, bySize, byEnd),
  inOrder(byLatestEnd, byStart, bySize),
  inOrder(byEnd, byStart, bySize),
  inOrder(byLength, byStart, bySize),
  inOrder(byLength, bySize, byStart),
  inOrder(bySize, byStart, byEnd),
  inOrder(bySize, byLength, byStart),
  inOrder(bySize, byLatestEnd, byStart),
  inOrder(byArea, byStart),
  inOrder((a, b) => byStart(b, a), bySize, byEnd),
]

function bestGreedy(timeline: Timeline, labs: readonly TimelineLab[]): readonly Load[] {
  let best: { loads: readonly Load[]; ms: number } | null = null
  for (const order of ORDERS) {
    const loads: Load[] = []
    const { ms } = insertAll(timeline, loads, labs.toSorted(order))
    if (best === null || ms < best.ms) best = { loads, ms }
  }
  return best?.loads ?? []
}

interface Insertion {
  readonly load: Load
  readonly lab: TimelineLab
}

/** Each lab goes where it adds the least machine time, and among equals to the machine with most labs. */
function insertAll(
  timeline: Timeline,
  loads: Load[],
  labs: readonly TimelineLab[],
): { ms: number; insertions: readonly Insertion[] } {
  const insertions: Insertion[] = []
  let total = 0
  for (const lab of labs) {
    let [best, bestMs]: [Load | null, number] = [null, aloneMs(timeline, lab)]
    for (const load of loads) {
      const ms = addedMs(timeline, load, lab)
      const isBetter = ms < bestMs || (ms === bestMs && load.labs.size > (best?.labs.size ?? 0))
      if (isBetter && hasCapacity(load, lab)) [best, bestMs] = [load, ms]
    }
    const load = best ?? emptyLoad(timeline)
    if (best === null) loads.push(load)
    put(load, lab)
    insertions.push({ load, lab })
    total += bestMs
  }
  return { ms: total, insertions }
}

/** Empties one machine after the other and places its labs again, as long as that saves machine time. */
function improved(timeline: Timeline, greedy: readonly Load[]): readonly Load[] {
  let loads = greedy
  for (let isBetter = true; isBetter; ) {
    isBetter = false
    for (const load of loads) {
      const better = loads.includes(load) ? without(timeline, loads, load) : null
      if (better === null) continue
      loads = better
      isBetter = true
    }
  }
  return loads
}

/** Less would be an error of rounding. */
const SAVED_MS_MIN = 1

function without(timeline: Timeline, loads: readonly Load[], emptied: Load): readonly Load[] | null {
  const before = timeOf(timeline, emptied).ms
  for (const order of ORDERS) {
    const others = loads.filter(load => load !== emptied)
    const { ms, insertions } = insertAll(timeline, others, [...emptied.labs].sort(order))
    if (ms <= before - SAVED_MS_MIN) return others
    for (const { load, lab } of insertions) remove(load, lab)
  }
  return null
}
