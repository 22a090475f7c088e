import type { Demand } from '../session/demand.ts'
import type { FreeCapacity } from '../session/free-capacity.ts'
import { refusalOf } from '../session/placement.ts'
import {
  type Amounts,
  copied,
  fits,
  type MachineCalendar,
  machineCalendar,
  peakOver,
  put,
  remove,
} from './machine-calendar.ts'
import type { Span } from './span.ts'

/** A session's use of a machine over time, promised or physical. */
export interface Use {
  readonly id: string
  readonly demand: Demand
  readonly span: Span
  /** The worker that the session is on; null before it is assigned. */
  readonly workerId: string | null
  /** Its position in the order of admission; null without a promise. */
  readonly number: number | null
  /** Where its capacity was found when it was admitted; null if that is unknown. */
  readonly machine: string | null
}

/** A machine that promises rely on: a worker, or one that may still be bought. */
export interface MachineOffer {
  readonly key: string
  /** Whether it exists. */
  readonly isWorker: boolean
  /** A worker is what it is. A machine to buy may be of any template, the cheapest first. */
  readonly choices: readonly MachineChoice[]
}

export interface MachineChoice {
  readonly capacity: FreeCapacity
  readonly limits: Amounts
}

/** A machine with everything that is promised on it. */
export interface PromisedMachine {
  offer: MachineOffer
  readonly calendar: MachineCalendar
  readonly uses: Map<string, Use>
  /** How many promises there are of each demand. */
  readonly demands: Map<Demand, number>
  /** The most that is in use at any time; null if it must be computed again. */
  peak: Amounts | null
  /** When it is in use, the earliest first; null if it must be computed again. */
  used: readonly Span[] | null
}

export const choiceOf = (capacity: FreeCapacity): MachineChoice => ({ capacity, limits: capacity.free })

export const promisedMachine = (offer: MachineOffer): PromisedMachine => ({
  offer,
  calendar: machineCalendar(NOTHING),
  uses: new Map(),
  demands: new Map(),
  peak: NOTHING,
  used: null,
})

/** The same machine, which can be changed without changing this one. */
export const copiedMachine = ({ offer, calendar, uses, demands, peak, used }: PromisedMachine): PromisedMachine => ({
  offer,
  calendar: copied(calendar),
  uses: new Map(uses),
  demands: new Map(demands),
  peak,
  used,
})
const NOTHING: Amounts = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0, ports: 0 }

export const amountsOf = ({ needs, ports }: Demand): Amounts => ({
  cpu_cores: needs.cpu_cores,
  memory_gb: needs.memory_gb,
  storage_gb: needs.storage_gb,
  nodes: needs.node_count,
  ports,
})

export function putUse(machine: PromisedMachine, use: Use): void {
  put(machine.calendar, use.span, amountsOf(use.demand))
  machine.uses.set(use.id, use)
  count(machine, use, 1)
  machine.used = null
  if (machine.peak !== null) machine.peak = larger(machine.peak, peakOver(machine.calendar, use.span))
}

export function removeUse(machine: PromisedMachine, use: Use): void {
  remove(machine.calendar, use.span, amountsOf(use.demand))
  machine.uses.delete(use.id)
  count(machine, use, -1)
  machine.used = null
  machine.peak = machine.uses.size === 0 ? NOTHING : null
}

/** A session that is on the machine already is not refused by it. */
function count({ demands }: PromisedMachine, { demand, workerId }: Use, by: 1 | -1): void {
  if (workerId !== null) return
  const next = (demands.get(demand) ?? 0) + by
  if (next === 0) demands.delete(demand)
  else demands.set(demand, next)
}

const larger = (a: Amounts, b: Amounts): Amounts => ({
  cpu_cores: Math.max(a.cpu_cores, b.cpu_cores),
  memory_gb: Math.max(a.memory_gb, b.memory_gb),
  storage_gb: Math.max(a.storage_gb, b.storage_gb),
  nodes: Math.max(a.nodes, b.nodes),
  ports: Math.max(a.ports, b.ports),
})

/** Whether the machine could run the session if it were empty. */
export const accepts = ({ choices }: MachineOffer, demand: Demand): boolean =>
  choices.some(choice => isAccepted(choice, demand))

const isAccepted = ({ capacity }: MachineChoice, demand: Demand): boolean => refusalOf(demand, capacity) === null

const ALWAYS: Span = { fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }
/** Sums of decimals differ by less. */
const ROUNDING = 1e-6
const RESOURCES = ['cpu_cores', 'memory_gb', 'storage_gb', 'nodes', 'ports'] as const

/** Whether the machine holds all that is promised on it if this is what it is. */
function holdsAll(machine: PromisedMachine, choice: MachineChoice): boolean {
  machine.peak ??= peakOver(machine.calendar, ALWAYS)
  const { peak } = machine
  if (RESOURCES.some(name => peak[name] > choice.limits[name] + ROUNDING)) return false
  for (const demand of machine.demands.keys()) if (!isAccepted(choice, demand)) return false
  return true
}

/** What the machine is, or the cheapest that it can be with all that is promised on it; null if it can't hold that. */
export const choiceNow = (machine: PromisedMachine): MachineChoice | null =>
  machine.offer.isWorker
    ? (machine.offer.choices[0] ?? null)
    : (machine.offer.choices.find(choice => holdsAll(machine, choice)) ?? null)

/** When the machine is in use. Capacity that is held for good says nothing about that. */
export const usedSpans = (machine: PromisedMachine): readonly Span[] => {
  machine.used ??= mergedSpans([...machine.uses.values()].map(({ span }) => span).filter(hasEnd))
  return machine.used
}

const hasEnd = ({ fromMs, untilMs }: Span): boolean => Number.isFinite(fromMs) && Number.isFinite(untilMs)

function mergedSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1)
    if (last !== undefined && span.fromMs <= last.untilMs)
      merged[merged.length - 1] = { ...last, untilMs: Math.max(last.untilMs, span.untilMs) }
    else merged.push(span)
  }
  return merged
}

/** Whether the machine holds everything that is promised on it. */
export const isWithinLimits = (machine: PromisedMachine): boolean =>
  machine.offer.choices.some(choice => holdsAll(machine, choice))

/** Whether the uses of a span are within its limits. */
export const isFreeOver = ({ calendar, offer }: PromisedMachine, span: Span): boolean =>
  offer.choices.some(({ limits }) => fits({ ...calendar, limits }, span, NOTHING))

/** How many sessions of these needs fit beside all others at each moment of the span, up to `most`. */
export function seatsOn(
  machine: PromisedMachine,
  { demand, span }: Pick<Use, 'demand' | 'span'>,
  most: number,
): number {
  const { choices } = machine.offer
  const use = amountsOf(demand)
  let peak: Amounts | null = null
  let best = 0
  for (const choice of choices) {
    if (!isAccepted(choice, demand) || (choices.length > 1 && !holdsAll(machine, choice))) continue
    peak ??= peakOver(machine.calendar, span)
    let seats = most
    for (const name of RESOURCES)
      seats = Math.min(seats, seatsBy(choice.limits[name] - peak[name] + ROUNDING, use[name]))
    best = Math.max(best, seats)
    if (best === most) break
  }
  return best
}

const seatsBy = (free: number, needed: number): number =>
  free < 0 ? 0 : needed === 0 ? Number.POSITIVE_INFINITY : Math.floor(free / needed)

export const canTake = (machine: PromisedMachine, use: Pick<Use, 'demand' | 'span'>): boolean =>
  seatsOn(machine, use, 1) > 0
