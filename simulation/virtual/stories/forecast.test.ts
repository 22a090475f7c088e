import { forecastOf } from '@lcm/domain/forecast/forecast'
import { toInstant, toMs } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { METAL } from '../world/control-plane.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aClass } from './class-fixture.ts'

const SEATS = 20
const DAY_MS = 24 * HOUR_MS
/** Intervals that change no decision about money are long, so that two days take seconds. */
const SETTINGS = {
  worker: {
    reconcileIntervalMs: 10 * MINUTE_MS,
    metricsIntervalMs: HOUR_MS,
    cmlCheckIntervalMs: HOUR_MS,
    discoveryIntervalMs: 10 * MINUTE_MS,
  },
  lablets: { reconcileIntervalMs: 10 * MINUTE_MS, labScanIntervalMs: HOUR_MS, contentSyncIntervalMs: HOUR_MS },
}

it('agrees with the cost of a class that is booked for tomorrow on a fresh fleet', async () => {
  const { world, operator, learner, over } = await aClass(211, {
    speed: 1,
    preset: 'calm',
    settings: SETTINGS,
    templates: [{ ...METAL, license_product: null }],
  })
  const { clock } = world.time
  for (const name of ['metal-1', 'metal-2']) await operator.create(name)
  const start = toInstant(Math.ceil(clock.now() / DAY_MS) * DAY_MS + 9 * HOUR_MS)
  for (let seat = 0; seat < SEATS; seat += 1) await learner.book('one', { start, duration_minutes: 60 })
  const calendar = await world.client.call('getCalendar', { query: { days: 1 } })
  const forecast = forecastOf(calendar, 1)
  expect(forecast).toMatchObject({ sessions: SEATS, late: [], unplaced: [] })
  await world.runFor(toMs(start) - clock.now())
  const statuses = [...world.sessions.sessions.values()].map(({ status }) => status)
  expect(statuses.filter(status => status === 'READY' || status === 'RUNNING')).toHaveLength(SEATS)
  await world.runFor(toMs(forecast.until) - clock.now())
  const { spent_usd } = await world.client.call('getFleetCost', { query: { since: forecast.at } })
  expect(Math.abs(forecast.totals.usd - spent_usd) / spent_usd).toBeLessThan(0.1)
  await over()
})
