import { type SeededRandom, seededRandom } from '@lcm/testkit/seeded-random'
import { type Booking, DAY_MS, HOUR_MS, type LabSize, MINUTE_MS, TERM_MS, WEEK_MS } from './trace.ts'

const CLASSES_A_WEEK = 18
const START_HOURS = [8, 8.5, 9, 10, 11, 13, 13.5, 14, 16, 18]
const LENGTH_HOURS = [2, 2.5, 3]
const SIZES: readonly LabSize[] = ['small', 'small', 'medium', 'medium', 'medium', 'large']
const BOOKED_AHEAD_MS = 10 * DAY_MS
/** Weeks at the end of the term with more self-study. */
const PEAK_WEEKS = 2

interface Course {
  readonly name: string
  readonly lab: LabSize
  readonly seats: number
  /** From Monday 00:00. */
  readonly startsMs: number
  readonly lengthMs: number
}

/**
 * A term of a made-up training center: 18 classes of 12 to 30 learners a week, and self-study beside them, a third of it without
 * notice. Some are canceled, don't come or leave early. The same seed gives the same term.
 */
export function syntheticTrace(seed: number, weeks: number): Booking[] {
  const random = seededRandom(seed)
  const courses = Array.from({ length: CLASSES_A_WEEK }, (_, n) => courseOf(random, n))
  const bookings: Omit<Booking, 'id'>[] = []
  for (let week = 0; week < weeks; week += 1) {
    const mondayMs = TERM_MS + week * WEEK_MS
    for (const course of courses) bookings.push(...classOf(random, course, mondayMs))
    const isPeak = week >= weeks - PEAK_WEEKS && weeks > PEAK_WEEKS
    for (const course of courses) {
      const count = Math.round(course.seats * 0.3 * (isPeak ? 2.5 : 1))
      for (let n = 0; n < count; n += 1) bookings.push(selfStudy(random, course, mondayMs))
    }
  }
  return bookings.sort((a, b) => a.startMs - b.startMs).map((booking, n) => ({ id: `s${n}`, ...booking }))
}

const chosen = <T>(random: SeededRandom, [first, ...others]: readonly [T, ...T[]]): T =>
  [first, ...others][random.int(others.length + 1)] ?? first

function courseOf(random: SeededRandom, n: number): Course {
  const pick = (values: readonly number[]) => values[random.int(values.length)] ?? 8
  return {
    name: `SYN-${n}`,
    lab: SIZES[random.int(SIZES.length)] ?? 'small',
    seats: 12 + random.int(19),
    startsMs: random.int(5) * DAY_MS + pick(START_HOURS) * HOUR_MS,
    lengthMs: pick(LENGTH_HOURS) * HOUR_MS,
  }
}

/** One class in twenty has a day off. */
function classOf(random: SeededRandom, course: Course, mondayMs: number): Omit<Booking, 'id'>[] {
  if (random.float() < 0.05) return []
  const startMs = mondayMs + course.startsMs
  const slot = { startMs, endMs: startMs + course.lengthMs, bookedMs: startMs - BOOKED_AHEAD_MS }
  return Array.from({ length: course.seats }, () => withHabits(random, course, { ...slot, kind: 'class' }))
}

function selfStudy(random: SeededRandom, course: Course, mondayMs: number): Omit<Booking, 'id'> {
  const isEvening = random.float() < 0.6
  const minuteOfDay = isEvening ? 17 * 60 + random.int(300) : 8 * 60 + random.int(540)
  const startMs = mondayMs + random.int(7) * DAY_MS + (minuteOfDay - (minuteOfDay % 15)) * MINUTE_MS
  const noticeMs = random.float() < 1 / 3 ? 0 : HOUR_MS + random.int(72 * 60) * MINUTE_MS
  const endMs = startMs + chosen(random, [60, 90, 120]) * MINUTE_MS
  return withHabits(random, course, { startMs, endMs, bookedMs: startMs - noticeMs, kind: 'self' })
}

function withHabits(
  random: SeededRandom,
  { name, lab }: Course,
  slot: Pick<Booking, 'startMs' | 'endMs' | 'bookedMs' | 'kind'>,
): Omit<Booking, 'id'> {
  const { startMs, endMs, bookedMs } = slot
  const isCanceled = random.float() < 0.04 && bookedMs < startMs
  const isNoShow = random.float() < 0.07
  const leavesEarly = !isNoShow && random.float() < 0.25
  const stayed = leavesEarly ? 0.3 + 0.65 * random.float() : 1
  const noticeMs = Math.min(startMs - bookedMs, Math.ceil(random.float() * 48 * 60) * MINUTE_MS)
  return {
    ...slot,
    course: name,
    lab,
    canceledMs: isCanceled ? startMs - noticeMs : null,
    leftMs: startMs + Math.ceil(((endMs - startMs) * stayed) / MINUTE_MS) * MINUTE_MS,
    isNoShow,
  }
}
