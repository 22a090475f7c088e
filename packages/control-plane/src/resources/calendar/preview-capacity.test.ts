import { toInstant } from '@lcm/domain/instant'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

const HOUR_MS = 3_600_000

let course: Course
let start: string
beforeEach(async () => {
  course = aCourse()
  await course.send('POST', 'worker-templates', { json: METAL })
  start = toInstant(course.clock.now() + 24 * HOUR_MS)
})

const preview = async (json: object) => (await course.send('POST', 'capacity/preview', { as: 'operator', json })).json
/** Without a license a worker runs five nodes: two such sessions. */
const booked = async (count: number) => {
  for (let n = 0; n < count; n += 1) await course.book({ start }, 'operator')
}

it('counts the admitted sessions that a lower limit would leave without capacity', async () => {
  await booked(5)
  expect(await preview({ settings: { max_workers_per_region: 3 } })).toEqual({ affected: 0, sessions: [] })
  const { affected, sessions } = await preview({ settings: { max_workers_per_region: 2 } })
  expect(affected).toBe(1)
  expect(sessions).toMatchObject([{ id: expect.stringMatching(/^ls-/), definition: 'bgp', start }])
  expect(await preview({ settings: { scale_up_enabled: false } })).toMatchObject({ affected: 5 })
  expect(await preview({})).toEqual({ affected: 0, sessions: [] })
})

it('counts those of a template that is disabled and of a worker that is cordoned', async () => {
  const { id } = await course.serving()
  await course.send('PATCH', 'settings', { json: { max_workers_per_region: 2 } })
  await booked(2)
  expect(await preview({ disabled_templates: ['metal'] })).toMatchObject({ affected: 0 })
  await course.send('PATCH', 'settings', { json: { max_workers_per_region: 1 } })
  expect(await preview({ cordoned_workers: [id] })).toMatchObject({ affected: 2 })
  expect((await course.get(id)).cordoned).toBe(false)
})

it('changes no promise: bookings are decided as before', async () => {
  await booked(2)
  await preview({ settings: { max_workers_per_region: 0 } })
  await booked(2)
  const { items } = (await course.send('GET', 'lablet-sessions')).json
  expect(items.map(({ admission }: { admission: object }) => admission)).toEqual(
    Array(4).fill(expect.objectContaining({ kind: 'admitted', at_risk: null })),
  )
})
