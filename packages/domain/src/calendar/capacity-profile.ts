import type { SpendingFacts } from '../fleet/budget.ts'
import type { Holders } from '../session/decide-scale-up.ts'
import type { Demand } from '../session/demand.ts'
import {
  accepts,
  canTake,
  copiedMachine,
  isFreeOver,
  isWithinLimits,
  type MachineOffer,
  type PromisedMachine,
  promisedMachine,
  putUse,
  removeUse,
  type Use,
} from './promised-machine.ts'
import { overlaps, type Span } from './span.ts'

/** What may be promised at most: every machine that serves or may be bought, and why there are not more. */
export interface Capacity {
  readonly machines: readonly MachineOffer[]
  readonly holders: Holders
  readonly region: string
  readonly workersMax: number
  readonly isScaleUpOn: boolean
  /** The license that keeps the region from having as many workers as its limit allows; null if none does. */
  readonly missingLicense: string | null
  /** What budgets leave; null where they don't count. */
  readonly spending: SpendingFacts | null
}

/**
 * Every admitted session with the machine that proves its promise. The proof is not the plan: the planner may use another machine.
 * A session that was assigned to a worker is where it is; others give way to it and are promised elsewhere.
 */
export interface CapacityProfile {
  capacity: Capacity
  readonly machines: Map<string, PromisedMachine>
  readonly uses: Map<string, Use>
  /** By session id: the machine that holds it. */
  readonly places: Map<string, PromisedMachine>
  /** Promised sessions that no machine holds any more. */
  readonly unplaced: Map<string, Use>
  /** Whether unplaced ones may fit since capacity became free. */
  isUnsettled: boolean
}

export function emptyProfile(capacity: Capacity): CapacityProfile {
  return {
    capacity,
    machines: new Map(capacity.machines.map(offer => [offer.key, promisedMachine(offer)])),
    uses: new Map(),
    places: new Map(),
    unplaced: new Map(),
    isUnsettled: false,
  }
}

/** The same promises, to find out what a change would do to them. */
export function copiedProfile({ machines, uses, places, unplaced, ...rest }: CapacityProfile): CapacityProfile {
  const copies = new Map<PromisedMachine, PromisedMachine>()
  const copyOf = (machine: PromisedMachine): PromisedMachine => {
    const known = copies.get(machine) ?? copiedMachine(machine)
    copies.set(machine, known)
    return known
  }
  return {
    ...rest,
    machines: new Map([...machines].map(([key, machine]) => [key, copyOf(machine)])),
    uses: new Map(uses),
    places: new Map([...places].map(([id, machine]) => [id, copyOf(machine)])),
    unplaced: new Map(unplaced),
  }
}

/** Enters a session, or its change. Without a promise only its worker's capacity counts. */
export function enter(profile: CapacityProfile, use: Use): void {
  const before = profile.uses.get(use.id)
  if (before !== undefined && isSame(before, use)) return
  leave(profile, use.id)
  profile.uses.set(use.id, use)
  if (use.workerId === null) {
    if (use.number !== null) promise(profile, use)
    return
  }
  // A worker that takes no new sessions still serves those that it has.
  const worker = profile.machines.get(use.workerId)
  if (worker !== undefined) hold(profile, worker, use)
}

const isSame = (a: Use, b: Use): boolean =>
  a.span.fromMs === b.span.fromMs &&
  a.span.untilMs === b.span.untilMs &&
  a.workerId === b.workerId &&
  a.number === b.number &&
  a.demand === b.demand

/** Frees what the session had. */
export function leave(profile: CapacityProfile, id: string): void {
  const use = profile.uses.get(id)
  if (use === undefined) return
  const place = profile.places.get(id)
  if (place !== undefined) removeUse(place, use)
  profile.uses.delete(id)
  profile.places.delete(id)
  profile.unplaced.delete(id)
  profile.isUnsettled ||= place !== undefined && profile.unplaced.size > 0
}

/** Where it was found first, else first fit. */
function promise(profile: CapacityProfile, use: Use): void {
  const known = use.machine === null ? undefined : profile.machines.get(use.machine)
  const place = known !== undefined && canTake(known, use) ? known : firstFit(profile, use)
  if (place !== null) putAt(profile, place, use)
  else {
    profile.unplaced.set(use.id, use)
    profile.isUnsettled = true
  }
}

function firstFit(profile: CapacityProfile, use: Use): PromisedMachine | null {
  for (const machine of profile.machines.values()) if (canTake(machine, use)) return machine
  return null
}

function putAt(profile: CapacityProfile, place: PromisedMachine, use: Use): void {
  putUse(place, use)
  profile.places.set(use.id, place)
  profile.unplaced.delete(use.id)
}

function takeOff(profile: CapacityProfile, use: Use): void {
  const place = profile.places.get(use.id)
  if (place !== undefined) removeUse(place, use)
  profile.places.delete(use.id)
}

/** A session is on its worker, whatever was promised there: the latest promises are moved elsewhere. */
function hold(profile: CapacityProfile, worker: PromisedMachine, use: Use): void {
  putAt(profile, worker, use)
  for (const each of displacedFrom(profile, worker, use.span)) promise(profile, each)
}

/** Removes promises from the machine until it is within its limits again. */
function displacedFrom(profile: CapacityProfile, machine: PromisedMachine, span: Span): Use[] {
  const displaced: Use[] = []
  if (isFreeOver(machine, span)) return displaced
  const movable = [...machine.uses.values()].filter(use => isMovable(use) && overlaps(use.span, span)).sort(latestFirst)
  for (const use of movable) {
    if (isFreeOver(machine, span)) break
    takeOff(profile, use)
    displaced.push(use)
  }
  return displaced.reverse()
}

/** Whether only a promise holds it there. */
export const isMovable = ({ workerId }: Use): boolean => workerId === null

const latestFirst = (a: Use, b: Use): number => (b.number ?? 0) - (a.number ?? 0) || (a.id < b.id ? 1 : -1)

/**
 * Follows machines that come, go or change. Promises that lose their machine are found another one. Yields often; the profile may
 * be read only when it is done.
 */
export function* changeCapacity(profile: CapacityProfile, capacity: Capacity): Generator<void> {
  profile.capacity = capacity
  const before = new Map(profile.machines)
  profile.machines.clear()
  for (const offer of capacity.machines) {
    const machine = before.get(offer.key) ?? promisedMachine(offer)
    machine.offer = offer
    profile.machines.set(offer.key, machine)
    before.delete(offer.key)
  }
  const lost = [...before.values()].flatMap(({ uses }) => [...uses.values()])
  for (const use of lost) takeOff(profile, use)
  for (const machine of profile.machines.values()) {
    lost.push(...refusedBy(profile, machine))
    yield
  }
  const isArriving = ({ id, workerId }: Use) =>
    workerId !== null && profile.machines.has(workerId) && !profile.places.has(id)
  const arriving = [...profile.uses.values()].filter(isArriving)
  for (const use of [...arriving, ...lost.toSorted((a, b) => latestFirst(b, a))]) {
    profile.uses.delete(use.id)
    enter(profile, use)
    yield
  }
  profile.isUnsettled ||= profile.unplaced.size > 0
}

/** Removes the promises that the machine can't keep since it changed, the latest first. */
function refusedBy(profile: CapacityProfile, machine: PromisedMachine): Use[] {
  const refused: Use[] = []
  if (isWithinLimits(machine)) return refused
  const refuseUnless = (keeps: (use: Use) => boolean) => {
    for (const use of [...machine.uses.values()].filter(isMovable).sort(latestFirst)) {
      if (keeps(use)) continue
      takeOff(profile, use)
      refused.push(use)
    }
  }
  refuseUnless(({ demand, span }) => accepts(machine.offer, demand) && isFreeOver(machine, span))
  if (machine.offer.choices.length > 1) refuseUnless(() => isWithinLimits(machine))
  return refused
}

/** Whether any machine could hold the session if nothing else were promised. */
export const isPossible = (profile: CapacityProfile, demand: Demand): boolean => {
  for (const { offer } of profile.machines.values()) if (accepts(offer, demand)) return true
  return false
}

/** Orders in which promises are placed again. The first that places all is taken. */
const ORDERS: readonly ((a: Use, b: Use) => number)[] = [
  (a, b) => (a.number ?? 0) - (b.number ?? 0),
  (a, b) => a.span.fromMs - b.span.fromMs,
  (a, b) => sizeOf(b) - sizeOf(a) || a.span.fromMs - b.span.fromMs,
]
const sizeOf = ({ demand: { needs } }: Use): number => needs.cpu_cores + needs.memory_gb / 4 + needs.node_count

/**
 * Finds capacity for promises that have none: on a machine that is free, else by placing all promises again that overlap them.
 * Yields often; the profile may be read only when it is done.
 */
export function* settle(profile: CapacityProfile): Generator<void> {
  if (!profile.isUnsettled) return
  profile.isUnsettled = false
  for (const use of [...profile.unplaced.values()].sort(ORDERS[0])) {
    promise(profile, use)
    yield
  }
  profile.isUnsettled = false
  const left = [...profile.unplaced.values()].filter(({ demand }) => isPossible(profile, demand))
  if (left.length === 0) return
  const movable = overlapping(profile, left)
  const before = new Map(movable.map(use => [use.id, profile.places.get(use.id)]))
  let fewest = profile.unplaced.size
  for (const order of ORDERS) {
    yield* takeOffAll(profile, movable)
    for (const use of movable.toSorted(order)) {
      promise(profile, { ...use, machine: null })
      yield
    }
    if (profile.unplaced.size < fewest) {
      fewest = profile.unplaced.size
      for (const use of movable) before.set(use.id, profile.places.get(use.id))
    }
    if (profile.unplaced.size === 0) break
  }
  yield* takeOffAll(profile, movable)
  for (const use of movable) {
    const place = before.get(use.id)
    if (place === undefined) profile.unplaced.set(use.id, use)
    else putAt(profile, place, use)
    yield
  }
  profile.isUnsettled = false
}

function* takeOffAll(profile: CapacityProfile, uses: readonly Use[]): Generator<void> {
  for (const use of uses) {
    takeOff(profile, use)
    yield
  }
}

/** The promises that compete with these for capacity, directly or through others, and these themselves. */
function overlapping(profile: CapacityProfile, left: readonly Use[]): Use[] {
  const movable = [...profile.uses.values()].filter(isMovable).sort((a, b) => a.span.fromMs - b.span.fromMs)
  const ids = new Set(left.map(({ id }) => id))
  const found: Use[] = []
  let group: Use[] = []
  let untilMs = Number.NEGATIVE_INFINITY
  const close = () => {
    if (group.some(({ id }) => ids.has(id))) found.push(...group)
    group = []
  }
  for (const use of movable) {
    if (use.span.fromMs >= untilMs) close()
    group.push(use)
    untilMs = Math.max(untilMs, use.span.untilMs)
  }
  close()
  return found
}
