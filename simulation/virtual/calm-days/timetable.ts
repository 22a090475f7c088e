import { type SeededRandom, seededRandom } from '@lcm/testkit/seeded-random'
import { LAB_NAMES, type LabName } from '../people/learner-requests.ts'
import { LEARNER_NAMES, type LearnerName } from '../world/control-plane.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'

const DAY_MS = 24 * HOUR_MS

/** Seats that are booked in one request. All times count from the first midnight of the run. */
export interface Booking {
  readonly atMs: number
  readonly definition: LabName
  readonly seats: number
  readonly startMs: number
  readonly minutes: number
  readonly by: LearnerName
  /** A walk-in starts at once, without a promise. */
  readonly isWalkIn: boolean
  /** When people cancel some of the seats: before the class, or because they are done. */
  readonly cancel: { readonly atMs: number; readonly share: number } | null
  /** When the first seat asks for more time. */
  readonly extend: { readonly atMs: number; readonly minutes: number } | null
}

/** A fleet, drawn per run. */
export interface CalmFleet {
  readonly workersMax: number
  /** Licenses in the pool that machines need for more than five nodes; null without a pool. */
  readonly seats: number | null
}

/** Small enough that some bookings are refused. */
export function fleetOf(seed: number): CalmFleet {
  const random = randomOf(seed, 1)
  const workersMax = 3 + random.int(4)
  return { workersMax, seats: random.int(3) === 0 ? null : workersMax - random.int(2) }
}

/** Classes on the hour, labs of learners, walk-ins, cancellations and extensions of some days, by the time they are requested. */
export function timetable(seed: number, days: number, { seats }: CalmFleet): Booking[] {
  const random = randomOf(seed, 2)
  const isLarge = seats !== null
  return Array.from({ length: days }, (_, day) => [
    ...many(2 + random.int(4), () => aClass(day, isLarge, random)),
    ...many(4 + random.int(8), () => aLab(day, random)),
    ...many(random.int(5), () => aWalkIn(day, random)),
  ])
    .flat()
    .sort((a, b) => a.atMs - b.atMs)
}

/** Streams of their own: they must not depend on how many ids the API has drawn. */
const randomOf = (seed: number, stream: number): SeededRandom => seededRandom(seed + stream * 2 ** 49)

const many = (count: number, draw: () => Booking): Booking[] => Array.from({ length: count }, draw)
const oneOf = <T>(items: readonly T[], random: SeededRandom): T => items[random.int(items.length)] as T
const common = (random: SeededRandom) => ({
  definition: oneOf(LAB_NAMES, random),
  by: oneOf(LEARNER_NAMES, random),
  isWalkIn: false,
  ...{ cancel: null, extend: null },
})

/** A lecture of up to twenty seats that begins on the hour, booked hours to days ahead. */
function aClass(day: number, isLarge: boolean, random: SeededRandom): Booking {
  const startMs = day * DAY_MS + (8 + random.int(11)) * HOUR_MS
  const minutes = oneOf([50, 60, 90, 120, 180], random)
  return withChanges(
    {
      ...common(random),
      atMs: bookedAt(startMs, 2 * HOUR_MS, random),
      seats: isLarge ? 4 + random.int(17) : 2 + random.int(9),
      ...{ startMs, minutes },
    },
    random,
  )
}

/** A lab of one to three hours on the quarter hour. */
function aLab(day: number, random: SeededRandom): Booking {
  const startMs = day * DAY_MS + 7 * HOUR_MS + random.int(60) * 15 * MINUTE_MS
  const minutes = 60 + random.int(9) * 15
  return withChanges(
    { ...common(random), atMs: bookedAt(startMs, 40 * MINUTE_MS, random), seats: 1, ...{ startMs, minutes } },
    random,
  )
}

function aWalkIn(day: number, random: SeededRandom): Booking {
  const atMs = day * DAY_MS + 8 * HOUR_MS + random.int(12 * 60) * MINUTE_MS + random.int(MINUTE_MS)
  return { ...common(random), atMs, seats: 1, startMs: atMs, minutes: 30 + random.int(7) * 10, isWalkIn: true }
}

/** At least so long ahead, mostly a day; bookings of the first day come shortly before. */
function bookedAt(startMs: number, aheadMs: number, random: SeededRandom): number {
  const latestMs = startMs - aheadMs
  const earliestMs = Math.max(0, latestMs - oneOf([HOUR_MS, 8 * HOUR_MS, DAY_MS, 3 * DAY_MS], random))
  return earliestMs + random.int(Math.max(1, latestMs - earliestMs))
}

function withChanges(booking: Booking, random: SeededRandom): Booking {
  const { atMs, startMs, minutes } = booking
  const endMs = startMs + minutes * MINUTE_MS
  const chance = random.int(100)
  const within = (fromMs: number, toMs: number) => fromMs + random.int(Math.max(1, toMs - fromMs))
  if (chance < 6) return { ...booking, cancel: { atMs: within(atMs + MINUTE_MS, startMs), share: 1 } }
  if (chance < 20) return { ...booking, cancel: { atMs: within(startMs, endMs), share: random.float() } }
  if (chance < 32)
    return { ...booking, extend: { atMs: within(atMs + MINUTE_MS, endMs), minutes: 10 * (1 + random.int(6)) } }
  return booking
}
