import type { LabSpan } from './machine-model.ts'
import { ROUNDING, type Shares } from './packing-bound.ts'

/** A lab on a timeline, by the positions of its start and end. */
export interface TimelineLab {
  readonly span: LabSpan
  readonly from: number
  readonly until: number
  readonly shares: Shares
}

/** The moments at which labs start and end, and how long a machine needs between them. */
export interface Timeline {
  readonly momentsMs: readonly number[]
  readonly boot_ms: number
  /** A machine can't sleep through a shorter gap, because it stops and boots first. */
  readonly sleep_min_ms: number
}

/** One machine: its labs, and how much they use from each moment to the next. */
export interface Load {
  readonly labs: Set<TimelineLab>
  readonly used: readonly Float64Array[]
  readonly running: Uint16Array
}

export const emptyLoad = ({ momentsMs: { length } }: Timeline): Load => ({
  labs: new Set(),
  used: [0, 1, 2, 3].map(() => new Float64Array(length)),
  running: new Uint16Array(length),
})

export function hasCapacity({ used }: Load, { from, until, shares }: TimelineLab): boolean {
  for (const [resource, share] of shares.entries()) {
    const most = 1 + ROUNDING - share
    const amounts = share > 0 ? used[resource] : undefined
    if (amounts !== undefined) for (let at = from; at < until; at += 1) if ((amounts[at] ?? 0) > most) return false
  }
  return true
}

export function put(load: Load, lab: TimelineLab): void {
  load.labs.add(lab)
  change(load, lab, 1)
}

export function remove(load: Load, lab: TimelineLab): void {
  load.labs.delete(lab)
  change(load, lab, -1)
}

function change({ used, running }: Load, { from, until, shares }: TimelineLab, by: 1 | -1): void {
  for (let at = from; at < until; at += 1) running[at] = (running[at] ?? 0) + by
  for (const [resource, share] of shares.entries()) {
    const amounts = used[resource]
    if (amounts !== undefined) for (let at = from; at < until; at += 1) amounts[at] = (amounts[at] ?? 0) + by * share
  }
}

/** The machine time of a gap between two uses: bridged, or slept through and booted again, whichever is less. */
const gapMs = ({ boot_ms, sleep_min_ms }: Timeline, gap: number): number =>
  gap < sleep_min_ms ? gap : Math.min(gap, boot_ms)

const momentAt = ({ momentsMs }: Timeline, at: number): number => momentsMs[at] ?? 0

/** The machine time and the boots of the load. */
export function timeOf(timeline: Timeline, { running }: Load): { ms: number; boots: number } {
  let [ms, boots] = [0, 0]
  let busyUntil: number | null = null
  for (const [at, count] of running.entries()) {
    if (count === 0) continue
    const gap = busyUntil === null ? Number.POSITIVE_INFINITY : momentAt(timeline, at) - busyUntil
    const paid = gapMs(timeline, gap)
    busyUntil = momentAt(timeline, at + 1)
    ms += paid + busyUntil - momentAt(timeline, at)
    boots += paid < gap ? 1 : 0
  }
  return { ms, boots }
}

/** The machine time of a lab that has a machine to itself. */
export const aloneMs = (timeline: Timeline, { from, until }: TimelineLab): number =>
  timeline.boot_ms + momentAt(timeline, until) - momentAt(timeline, from)

/** The machine time that one more lab adds: what it is up alone, and how it changes the gaps around it. */
export function addedMs(timeline: Timeline, { running, labs }: Load, lab: TimelineLab): number {
  if (labs.size === 0) return aloneMs(timeline, lab)
  const { from, until } = lab
  let at = from
  while (at > 0 && running[at - 1] === 0) at -= 1
  let added = 0
  while (at < until) {
    let end = at
    while (end < running.length - 1 && running[end] === 0) end += 1
    if (end > at) added += addedInGap(timeline, lab, { from: at, until: end, isLast: running[end] === 0 })
    at = end + 1
  }
  return added
}

interface Gap {
  readonly from: number
  readonly until: number
  /** Whether the machine has no later use. */
  readonly isLast: boolean
}

function addedInGap(timeline: Timeline, lab: TimelineLab, gap: Gap): number {
  const paid = (from: number, until: number) =>
    until > from ? gapMs(timeline, momentAt(timeline, until) - momentAt(timeline, from)) : 0
  const [from, until] = [Math.max(gap.from, lab.from), Math.min(gap.until, lab.until)]
  const before = gap.from > 0 ? paid(gap.from, from) : 0
  const after = gap.isLast ? 0 : paid(until, gap.until)
  const whole = gap.from > 0 && !gap.isLast ? paid(gap.from, gap.until) : 0
  return momentAt(timeline, until) - momentAt(timeline, from) + before + after - whole
}
