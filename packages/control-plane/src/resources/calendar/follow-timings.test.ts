import { timingId } from '@lcm/domain/calendar/timings'
import { toInstant } from '@lcm/domain/instant'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

let course: Course
/** One machine may be bought, with a license for 10 sessions of two nodes. */
beforeEach(async () => {
  course = aCourse()
  await course.define({ max_duration_minutes: 240 })
  await course.set({ max_workers_per_region: 1 })
})

const at = (hours: number) => toInstant(course.clock.now() + hours * HOUR_MS)
const bookSeats = async (seats: number, start: string) => {
  const json = { definition: 'bgp', duration_minutes: 60, seats, start }
  const answer = await course.send('POST', 'lablet-sessions/batch', { as: 'author', json })
  expect(answer.status).toBe(201)
  return answer.json.items.map(({ id }: { id: string }) => id) as string[]
}
const labsTake = (minutes: number) =>
  course.put('timings', {
    ...{ id: timingId.lab('bgp'), version: 1, created_at: at(0), updated_at: at(0) },
    recent_ms: Array.from({ length: 50 }, () => minutes * MINUTE_MS - 30_000),
  })
const admissionOf = async (id: string) => (await course.session(id)).admission
const leadOf = async (id: string, start: string) =>
  (Date.parse(start) - Date.parse((await admissionOf(id)).span?.from ?? '')) / MINUTE_MS

describe('a promise', () => {
  it('follows the measured time of its labs, and a booking meanwhile counts it', async () => {
    const start = at(6)
    const [id = ''] = await bookSeats(10, start)
    await labsTake(25)
    await course.tend()
    expect(await leadOf(id, start)).toBe(25)
    expect((await admissionOf(id)).at_risk).toBeNull()
    const before = { definition: 'bgp', duration_minutes: 60, start: toInstant(Date.parse(start) - 80 * MINUTE_MS) }
    expect((await course.send('POST', 'lablet-sessions', { json: before })).status).toBe(409)
    await labsTake(5)
    await course.tend()
    expect(await leadOf(id, start)).toBe(5)
    expect((await course.send('POST', 'lablet-sessions', { json: before })).status).toBe(201)
  })

  it('is at risk while others were promised the time that it lacks', async () => {
    await labsTake(5)
    const [first = ''] = await bookSeats(10, at(4))
    const [second = ''] = await bookSeats(10, at(5.2))
    const before = (await admissionOf(second)).span
    await labsTake(30)
    await course.tend()
    expect(await admissionOf(second)).toMatchObject({
      span: before,
      at_risk: { code: 'capacity_lost', params: { cause: { code: 'lab_takes_longer', params: { minutes: 25 } } } },
    })
    expect((await admissionOf(first)).at_risk).toBeNull()
    await course.set({ max_workers_per_region: 2 })
    await course.tend()
    await course.tend()
    expect((await admissionOf(second)).at_risk).toBeNull()
    expect((await admissionOf(second)).span).not.toEqual(before)
  })
})
