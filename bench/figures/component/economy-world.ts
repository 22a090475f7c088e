/** Figure of 5.9: whether the economy bench agrees with the whole system, over two days. */

import { plannerPolicy } from '../../economy/planner-policy.ts'
import { playInWorld } from '../../economy/play-in-world.ts'
import { playTrace } from '../../economy/play-trace.ts'
import { syntheticTrace } from '../../economy/synthetic-trace.ts'
import { type Booking, DAY_MS, HOUR_MS, TERM_MS } from '../../economy/trace.ts'
import { atMost, conclude, measured, shown } from '../../report/figure-report.ts'

const HOURS_PERCENT_MAX = 5
const BOOTS_MAX = 1
const DAYS = [
  { seed: 1, day: 8 },
  { seed: 2, day: 9 },
] as const

/** The sessions of one day, booked on that day at the earliest. */
function dayOf({ seed, day }: (typeof DAYS)[number]): Booking[] {
  const fromMs = TERM_MS + day * DAY_MS
  const ofDay = syntheticTrace(seed, 3).filter(
    ({ startMs, endMs, canceledMs }) =>
      startMs >= fromMs && endMs <= fromMs + DAY_MS - 2 * HOUR_MS && (canceledMs === null || canceledMs >= fromMs),
  )
  return ofDay.map(booking => ({ ...booking, bookedMs: Math.max(booking.bookedMs, fromMs) }))
}

const days: { readonly bench: number; readonly world: number; readonly boots: number; readonly what: string }[] = []
for (const each of DAYS) {
  const bookings = dayOf(each)
  const { hours, boots, workers } = playTrace(bookings, plannerPolicy('LCM'), { seed: each.seed })
  const bench = hours.boot + hours.lab + hours.reserved + hours.idle
  const world = await playInWorld(bookings, each.seed)
  const what = [
    `bench ${workers} workers, ${boots} boots, ${shown(bench)} h`,
    `whole system ${world.workers}, ${world.boots}, ${shown(world.hours)} h`,
  ].join('; ')
  days.push({ bench, world: world.hours, boots: Math.abs(boots - world.boots), what })
}
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const [bench, world] = [sum(days.map(each => each.bench)), sum(days.map(each => each.world))]
conclude({
  bench: 'economy-world',
  figures: [
    ...days.map(({ what }, n) => measured(`day ${n + 1} through the bench and the whole system`, what)),
    atMost('machine hours of both days: difference', HOURS_PERCENT_MAX, {
      value: Math.abs(100 * (bench / world - 1)),
      unit: '%',
    }),
    atMost('boots of a day: difference', BOOTS_MAX, { value: Math.max(...days.map(({ boots }) => boots)) }),
  ],
})
