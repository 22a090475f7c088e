import { addedMs, fits, put, remove } from '../calendar/machine-calendar.ts'
import type { Span } from '../calendar/span.ts'
import { refusalOf } from '../session/placement.ts'
import { accepts, boughtFor, type Machine, type Placed, type Task } from './machine-state.ts'
import type { BudgetWindow } from './plan-input.ts'

const HOUR_MS = 3_600_000
/** What a minute is worth that a session waits, where no machine is ready in time. */
export const USD_PER_LATE_MS = 0.5 / 60_000
/** A machine that is not ready in time is late by so much at least. */
const LATE_MS_MIN = 60_000
/** Less would be an error of rounding. */
const USD_MIN = 1e-9

/** The machines that sessions are placed on, and what limits new ones. */
export interface Fleet {
  readonly nowMs: number
  readonly machines: Machine[]
  readonly offers: readonly Machine[]
  /** How many machines may be bought. */
  vacancies: number
  /** By product: the licenses that are free. */
  readonly seats: Map<string, number>
  readonly budgets: (BudgetWindow & { leftUsd: number })[]
}

/** A machine for a session, and what it costs there. */
export interface Option {
  readonly machine: Machine
  readonly span: Span
  readonly usd: number
  readonly lateMs: number
}

/** Null if the machine has no capacity for the session. */
export function optionOn(machine: Machine, task: Task, nowMs: number): Option | null {
  const { wanted, amounts } = task
  const fromMs = Math.max(wanted.fromMs, nowMs)
  const { readyMs, likelyMs } = readyFor(machine, task)
  const isInTime = fromMs >= readyMs
  const span = { fromMs: isInTime ? fromMs : readyMs, untilMs: wanted.untilMs }
  if (span.fromMs >= span.untilMs || !fits(machine.calendar, span, amounts)) return null
  const extraMs = machine.placed.length === 0 ? machine.firstExtraMs : 0
  const usd = ((addedMs(machine.calendar, span, machine.times) + extraMs) * machine.usdPerHour) / HOUR_MS
  return { machine, span, usd, lateMs: isInTime ? 0 : Math.max(LATE_MS_MIN, likelyMs - fromMs) }
}

/** A machine that serves without its license takes the sessions that need none. */
function readyFor({ pending, readyMs, likelyMs }: Machine, { demand }: Task): Pick<Machine, 'readyMs' | 'likelyMs'> {
  if (pending === null || refusalOf(demand, pending.capacity) === null) return { readyMs, likelyMs }
  return { readyMs: pending.untilMs, likelyMs: pending.untilMs }
}

/** In time before late, then the cheapest, then what runs, then what has most sessions. */
function isBetter(a: Option, b: Option | null): boolean {
  if (b === null) return true
  if ((a.lateMs === 0) !== (b.lateMs === 0)) return a.lateMs === 0
  const difference = a.usd + a.lateMs * USD_PER_LATE_MS - (b.usd + b.lateMs * USD_PER_LATE_MS)
  if (Math.abs(difference) > USD_MIN) return difference < 0
  if (a.machine.isOn !== b.machine.isOn) return a.machine.isOn
  return a.machine.placed.length > b.machine.placed.length
}

/** What keeps a machine from being started for a session that it could hold. */
export type Obstacle = 'vacancies' | 'license' | 'budget'

export function obstacleTo({ machine, span, usd }: Option, { vacancies, seats, budgets }: Fleet): Obstacle | null {
  if (machine.isOn || machine.placed.length > 0) return null
  if (machine.worker === null && vacancies <= 0) return 'vacancies'
  const product = productToTake(machine)
  if (product !== null && (seats.get(product) ?? 1) <= 0) return 'license'
  return budgets.some(each => isWithin(span, each) && each.leftUsd < usd) ? 'budget' : null
}

/** The license that the machine needs once it starts; null if it has one, or needs none. */
function productToTake({ worker, host, placed }: Machine): string | null {
  const hasLicense = worker?.license.status === 'REGISTERED' || worker?.license.seat === 'held'
  return placed.length > 0 || hasLicense ? null : host.worker.license.product
}

const isWithin = ({ fromMs }: Span, window: BudgetWindow): boolean => fromMs >= window.fromMs && fromMs < window.untilMs

/** The machine on which the session costs least; null if none may take it. */
export function bestOption(task: Task, fleet: Fleet, machines: readonly Machine[] = fleet.machines): Option | null {
  let best: Option | null = null
  const consider = (machine: Machine) => {
    const option = accepts(machine, task) ? optionOn(machine, task, fleet.nowMs) : null
    if (option !== null && isBetter(option, best) && obstacleTo(option, fleet) === null) best = option
  }
  for (const machine of machines) consider(machine)
  for (const offer of fleet.offers) consider(offer)
  return best
}

export function take({ machine, span, usd }: Option, task: Task, fleet: Fleet): Placed {
  const product = machine.isOn ? null : productToTake(machine)
  if (product !== null) fleet.seats.set(product, (fleet.seats.get(product) ?? Number.POSITIVE_INFINITY) - 1)
  for (const window of fleet.budgets) if (isWithin(span, window)) window.leftUsd -= usd
  const isBought = fleet.offers.includes(machine)
  const taken = isBought ? boughtFor(machine, task) : machine
  if (isBought) {
    fleet.machines.push(taken)
    fleet.vacancies -= 1
  }
  const placed = { task, span }
  putOn(taken, placed)
  return placed
}

export function putOn(machine: Machine, placed: Placed): void {
  put(machine.calendar, placed.span, placed.task.amounts)
  machine.placed.push(placed)
}

export function removeFrom(machine: Machine, placed: Placed): void {
  remove(machine.calendar, placed.span, placed.task.amounts)
  machine.placed.splice(machine.placed.indexOf(placed), 1)
}

/** Places one session after another where it costs least. Returns those that have no machine. */
export function placeAll(tasks: readonly Task[], fleet: Fleet): Task[] {
  return tasks.filter(task => {
    const option = bestOption(task, fleet)
    if (option !== null) take(option, task, fleet)
    return option === null
  })
}
