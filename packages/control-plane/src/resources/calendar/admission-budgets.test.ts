import { toInstant } from '@lcm/domain/instant'
import { beforeEach, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

const HOUR_MS = 3_600_000
/** The machine costs 4 USD an hour, is started 20 minutes before its first lab and has a disk. */
const ONE_USE = 6

let course: Course
beforeEach(async () => {
  course = aCourse()
  await course.define({ max_duration_minutes: 240 })
  await course.set({ budget_usd_per_day: ONE_USE })
})

/** At 10 o'clock in so many days. */
const at = (days: number, hour = 10) => toInstant(Date.parse('2026-01-01T00:00:00.000Z') + (days * 24 + hour) * HOUR_MS)
const book = (json: object, as: 'user' | 'admin' = 'admin') =>
  course.send('POST', 'lablet-sessions', { as, json: { definition: 'bgp', duration_minutes: 60, ...json } })

it('a booking that the budget of its day does not allow is refused, and the times that it offers work', async () => {
  expect((await book({ start: at(2) })).status).toBe(201)
  const { status, json } = await book({ start: at(2, 16) })
  expect(status).toBe(409)
  expect(json).toMatchObject({
    code: 'no_capacity_at_that_time',
    reason: {
      params: { cause: { code: 'budget_booked', params: { period: 'day', date: '2026-01-03', limit: ONE_USE } } },
    },
  })
  expect(json.detail).toMatch(/the budget of Sat 2026-01-03 is used up: .*2026-01-04 \d\d:\d\d UTC works/)
  expect(json.alternatives.at(-1).slice(0, 10)).toBe('2026-01-04')
  for (const start of json.alternatives) expect((await book({ start })).status).toBe(201)
})

it('learners read which day is used up', async () => {
  await book({ start: at(2) })
  const id = (await course.send('GET', 'lablet-definitions?name=bgp')).json.items[0].id
  const json = { start: at(2, 16), duration_minutes: 60, seats: 1 }
  const preview = await course.send('POST', `lablet-definitions/${id}/admission-preview`, { as: 'user', json })
  expect(preview.json).toMatchObject({
    outcome: 'refused',
    because: { message: expect.stringContaining('2026-01-03') },
  })
})

it('of best effort is booked beyond the budget, and takes nothing from it', async () => {
  expect((await book({ start: at(2), best_effort: true })).json.admission.kind).toBe('best_effort')
  expect((await book({ start: at(2, 16) })).status).toBe(201)
})

it('what was spent counts too, and a higher budget counts at once', async () => {
  const worker = await course.running()
  await course.clock.advance(HOUR_MS)
  await course.edit(worker.id, () => ({ desired_status: 'STOPPED', status: 'STOPPED' }))
  const { json } = await book({ start: at(0, 16) })
  expect(json.reason.params.cause.code).toBe('budget_booked')
  await course.set({ budget_usd_per_day: 2 * ONE_USE })
  expect((await book({ start: at(0, 16) })).status).toBe(201)
})

it('an extension beyond the budget is refused', async () => {
  const { json } = await book({ start: at(2) })
  const answer = await course.send('POST', `lablet-sessions/${json.id}/extend`, { json: { minutes: 150 } })
  expect(answer.json).toMatchObject({ code: 'no_capacity_at_that_time', reason: { code: 'extension_short' } })
  expect(answer.json.reason.params.cause.code).toBe('budget_booked')
})
