import { type Reason, reason } from '../reason.ts'
import { admit, shortageOf } from './admission.ts'
import { type CapacityProfile, enter, isMovable, leave } from './capacity-profile.ts'
import { canTake, type Use } from './promised-machine.ts'
import type { Span } from './span.ts'

const MINUTE_MS = 60_000
/** A longer need counts soon, because labs would be late. A shorter one only saves capacity. */
const LONGER_MS = MINUTE_MS
const SHORTER_MS = 5 * MINUTE_MS

/** The span that a promise should have by the timings of now; null while the promised one will do. */
export function followedSpan(promised: Span, wanted: Span, nowMs: number): Span | null {
  if (promised.fromMs <= nowMs) return null
  const earlierMs = promised.fromMs - Math.max(nowMs, wanted.fromMs)
  const laterMs = wanted.untilMs - promised.untilMs
  const fromMs = isMoved(earlierMs) ? promised.fromMs - earlierMs : promised.fromMs
  const untilMs = isMoved(laterMs) ? wanted.untilMs : promised.untilMs
  return fromMs === promised.fromMs && untilMs === promised.untilMs ? null : { fromMs, untilMs }
}

const isMoved = (longerMs: number): boolean => longerMs >= LONGER_MS || longerMs <= -SHORTER_MS

export interface FollowedTimings {
  /** Promises with another span, which the profile has now. */
  readonly changed: readonly (Span & { readonly id: string; readonly machine: string })[]
  /** By id: why a promise keeps a span that is too short. */
  readonly short: ReadonlyMap<string, Reason>
}

/** Gives promises the spans that they need now, the first booked first, and none the capacity of another. Yields after each. */
export function* followTimings(
  profile: CapacityProfile,
  wanted: ReadonlyMap<string, Span>,
): Generator<void, FollowedTimings> {
  const changed: FollowedTimings['changed'][number][] = []
  const short = new Map<string, Reason>()
  const uses = [...wanted.keys()].flatMap(id => profile.uses.get(id) ?? [])
  for (const use of uses.filter(isPromise).toSorted((a, b) => (a.number ?? 0) - (b.number ?? 0))) {
    const place = profile.places.get(use.id)
    const span = wanted.get(use.id)
    // A promise without capacity waits for that first.
    if (place === undefined || span === undefined) continue
    leave(profile, use.id)
    const moved = { ...use, span }
    const machine = canTake(place, moved) ? place.offer.key : anyMachine(profile, moved)
    if (machine === null) short.set(use.id, longerLab(profile, use, span))
    else changed.push({ id: use.id, ...span, machine })
    enter(profile, machine === null ? { ...use, machine: place.offer.key } : { ...moved, machine })
    yield
  }
  return { changed, short }
}

const isPromise = (use: Use): boolean => isMovable(use) && use.number !== null

function anyMachine(profile: CapacityProfile, { demand, span }: Use): string | null {
  const admission = admit(profile, [{ demand, span, count: 1 }])
  return admission.kind === 'admitted' ? (admission.machines[0]?.[0] ?? null) : null
}

function longerLab(profile: CapacityProfile, { demand, span }: Use, wanted: Span): Reason {
  const longerMs = Math.max(0, span.fromMs - wanted.fromMs) + Math.max(0, wanted.untilMs - span.untilMs)
  const cause = shortageOf(profile, { demand, span: wanted, count: 1 })
  return reason('lab_takes_longer', { minutes: Math.ceil(longerMs / MINUTE_MS), cause })
}
