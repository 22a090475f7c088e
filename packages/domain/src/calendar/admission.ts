import { type Instant, toInstant } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { fitsNowhereBecause } from '../session/decide-scale-up.ts'
import type { Demand } from '../session/demand.ts'
import { licenseLimit } from '../session/free-capacity.ts'
import { type CapacityProfile, enter, isMovable, isPossible, leave } from './capacity-profile.ts'
import { canTake, isFreeOver, type PromisedMachine, seatsOn, type Use } from './promised-machine.ts'
import { budgetBooked, type MoreUse, oneMore, overspending } from './promised-spending.ts'
import { overlaps, type Span } from './span.ts'

/** Seats of the same needs at the same time. */
export interface Seats {
  readonly demand: Demand
  readonly span: Span
  readonly count: number
}

export type Admission =
  /** The machine of each seat, in the order of the seats. */
  | { readonly kind: 'admitted'; readonly machines: readonly (readonly string[])[] }
  /** `index` names the seats that don't fit, and `free` how many of them would. */
  | { readonly kind: 'refused'; readonly index: number; readonly free: number; readonly because: Reason }

/** Whether all seats fit beside everything that is promised: first fit, and all or none. The profile stays as it is. */
export function admit(profile: CapacityProfile, groups: readonly Seats[]): Admission {
  const machines: string[][] = []
  const tried: string[] = []
  const end = (admission: Admission): Admission => {
    for (const id of tried) leave(profile, id)
    return admission
  }
  for (const [index, group] of groups.entries()) {
    const found = firstFit(profile, group)
    if (found.length < group.count)
      return end({ kind: 'refused', index, free: found.length, because: shortageOf(profile, group) })
    const over = overspending(profile, usesOf(found, group))
    if (over !== null) {
      const free = affordable(profile, found, group)
      return end({ kind: 'refused', index, free, because: budgetBooked(over) })
    }
    machines.push(found)
    // Later groups may overlap this one.
    if (groups.length > 1)
      for (const [seat, machine] of found.entries()) {
        const id = `seat ${seat} of ${index}`
        enter(profile, { id, ...group, workerId: null, number: Number.MAX_SAFE_INTEGER, machine })
        tried.push(id)
      }
  }
  return end({ kind: 'admitted', machines })
}

function usesOf(machines: readonly string[], { demand, span }: Pick<Seats, 'demand' | 'span'>): MoreUse[] {
  const counts = new Map<string, number>()
  for (const machine of machines) counts.set(machine, (counts.get(machine) ?? 0) + 1)
  return [...counts].map(([machine, count]) => ({ machine, demand, span, count }))
}

/** How many of the seats the budgets allow. */
function affordable(profile: CapacityProfile, found: readonly string[], seats: Seats): number {
  let [low, high] = [0, found.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (overspending(profile, usesOf(found.slice(0, middle), seats)) === null) low = middle
    else high = middle
  }
  return low
}

/** The machines of as many seats as fit. */
function firstFit(profile: CapacityProfile, seats: Seats): string[] {
  const found: string[] = []
  if (awaitedThen(profile, seats) > 0) return found
  for (const [key, machine] of profile.machines) {
    if (found.length === seats.count) break
    const fitting = seatsOn(machine, seats, seats.count - found.length)
    for (let seat = 0; seat < fitting; seat += 1) found.push(key)
  }
  return found
}

/** Promises of that time that wait for capacity: they come before any later one. */
function awaitedThen(profile: CapacityProfile, { span }: Pick<Seats, 'span'>): number {
  let count = 0
  for (const use of profile.unplaced.values())
    if (overlaps(use.span, span) && isPossible(profile, use.demand)) count += 1
  return count
}

/** The reason for a shortage, with what to do about it. */
export function shortageOf(profile: CapacityProfile, seats: Seats): Reason {
  const awaited = awaitedThen(profile, seats)
  return awaited > 0 ? reason('promises_come_first', { sessions: awaited }) : limitOf(profile, seats)
}

/** Why there is not more capacity at that time. */
function limitOf(profile: CapacityProfile, seats: Seats): Reason {
  const { demand } = seats
  const { holders, isScaleUpOn, workersMax, region, missingLicense } = profile.capacity
  const nowhere = fitsNowhereBecause(demand, holders)
  if (nowhere !== null) return nowhere
  if (missingLicense !== null) return reason('capacity_booked_no_seat', { license: missingLicense })
  const limit = licenseShortage(profile, seats)
  if (limit !== null) return limit
  if (!isScaleUpOn) return reason('capacity_booked_no_scale_up')
  if (holders.offers.length === 0) return reason('capacity_booked_no_template')
  return reason('capacity_booked', { limit: workersMax, region })
}

/** The promises that no capacity is left for, each with the reason. Yields after each. */
export function* lostPromises(profile: CapacityProfile): Generator<void, Map<string, Reason>> {
  const lost = new Map<string, Reason>()
  for (const [id, { demand, span }] of profile.unplaced) {
    lost.set(id, limitOf(profile, { demand, span, count: 1 }))
    yield
  }
  return lost
}

/** Whether more seats would fit if the license allowed more nodes. */
function licenseShortage(profile: CapacityProfile, seats: Seats): Reason | null {
  const { count } = seats
  const withoutNodes = { ...seats, demand: { ...seats.demand, needs: { ...seats.demand.needs, node_count: 0 } } }
  for (const machine of profile.machines.values()) {
    const [choice] = machine.offer.choices
    const { node_limit, license } = choice === undefined ? NO_LICENSE_LIMIT : licenseLimit(choice.capacity.worker)
    if (node_limit === null || seatsOn(machine, withoutNodes, count) <= seatsOn(machine, seats, count)) continue
    return reason('capacity_booked_license', { node_limit, license })
  }
  return null
}
const NO_LICENSE_LIMIT = { node_limit: null, license: null }

const MINUTE_MS = 60_000
const STEP_MS = 15 * MINUTE_MS
const SEARCH_MS = 7 * 24 * 60 * MINUTE_MS

export interface TimeSearch {
  /** No seat starts before. */
  readonly nowMs: number
  /** The start that was refused. */
  readonly startMs: number
  /** Whether something other than capacity rules a start out. */
  isAllowed(startMs: number): boolean
}

/**
 * The nearest starts, on quarter hours within a week, at which all seats would be admitted: one before and one after. Where the
 * budget of a month is used up, the week after it is searched too. Yields after each candidate.
 */
export function* nearestStarts(profile: CapacityProfile, seats: Seats, search: TimeSearch): Generator<void, Instant[]> {
  if (!isPossible(profile, seats.demand)) return []
  const first = search.startMs / STEP_MS
  const before = yield* firstStart(profile, seats, search, { first: Math.ceil(first) - 1, direction: -1 })
  const after = yield* firstStart(profile, seats, search, { first: Math.floor(first) + 1, direction: 1 })
  const later =
    after.atMs === null && after.overMonthMs !== null
      ? yield* firstStart(profile, seats, search, { first: Math.ceil(after.overMonthMs / STEP_MS), direction: 1 })
      : after
  return [before.atMs, later.atMs].flatMap(atMs => (atMs === null ? [] : [toInstant(atMs)]))
}

/** The first start that works, and when the last month ends whose budget was in the way. */
function* firstStart(
  profile: CapacityProfile,
  seats: Seats,
  { nowMs, startMs, isAllowed }: TimeSearch,
  { first, direction }: { readonly first: number; readonly direction: 1 | -1 },
): Generator<void, { readonly atMs: number | null; readonly overMonthMs: number | null }> {
  let overMonthMs: number | null = null
  for (let n = 0; n * STEP_MS < SEARCH_MS; n += 1) {
    const atMs = (first + direction * n) * STEP_MS
    if (atMs < nowMs) break
    const byMs = atMs - startMs
    const span = { fromMs: seats.span.fromMs + byMs, untilMs: seats.span.untilMs + byMs }
    const fitting = firstFit(profile, { ...seats, span })
    yield
    if (fitting.length < seats.count || !isAllowed(atMs)) continue
    const over = overspending(profile, usesOf(fitting, { ...seats, span }))
    if (over === null) return { atMs, overMonthMs }
    if (over.window.period === 'month') overMonthMs = over.window.untilMs
  }
  return { atMs: null, overMonthMs }
}

/**
 * How far the use of a session can be extended, up to `untilMs`, so that all promises are kept; its present end if not at all. The
 * profile is the same afterwards, but promises may have changed their machines.
 */
export function extensibleUntil(profile: CapacityProfile, id: string, untilMs: number): number {
  const use = profile.uses.get(id)
  if (use === undefined || use.span.untilMs >= untilMs) return untilMs
  if (canExtend(profile, use, untilMs)) return untilMs
  let [low, high] = [0, Math.ceil((untilMs - use.span.untilMs) / MINUTE_MS)]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (canExtend(profile, use, use.span.untilMs + middle * MINUTE_MS)) low = middle
    else high = middle
  }
  return use.span.untilMs + low * MINUTE_MS
}

function canExtend(profile: CapacityProfile, use: Use, untilMs: number): boolean {
  const span = { fromMs: use.span.untilMs, untilMs }
  if (awaitedThen(profile, { span }) > 0) return false
  const place = profile.places.get(use.id)
  if (place !== undefined && overspending(profile, [oneMore(place, { ...use, span })]) !== null) return false
  if (use.workerId === null) return canPromise(profile, use, { ...use.span, untilMs })
  return place === undefined || canHold(profile, place, { ...use, span: { fromMs: use.span.untilMs, untilMs } })
}

/** A session that is not assigned yet may be promised another machine. */
function canPromise(profile: CapacityProfile, use: Use, span: Span): boolean {
  const machine = profile.places.get(use.id)?.offer.key ?? use.machine
  leave(profile, use.id)
  const isFree = [...profile.machines.values()].some(each => canTake(each, { ...use, span }))
  enter(profile, { ...use, machine })
  return isFree
}

/** A lab stays on its worker: promises of others may be moved from there if another machine can keep them. */
function canHold(profile: CapacityProfile, worker: PromisedMachine, use: Use): boolean {
  if (canTake(worker, use)) return true
  const others = [...worker.uses.values()].filter(each => isMovable(each) && overlaps(each.span, use.span))
  const unplaced = profile.unplaced.size
  const id = `more of ${use.id}`
  enter(profile, { ...use, id })
  const isHeld = profile.unplaced.size === unplaced && isFreeOver(worker, use.span)
  leave(profile, id)
  for (const each of others) {
    leave(profile, each.id)
    enter(profile, { ...each, machine: worker.offer.key })
  }
  return isHeld
}
