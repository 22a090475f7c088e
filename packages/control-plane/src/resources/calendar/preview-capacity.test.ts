import { toInstant } from '@lcm/domain/instant'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, expect, it } from 'vitest'
import { aCourse, type Course, TOPOLOGY } from '../../testing/bookable-fleet.ts'

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
const booked = async (count: number, more: object = {}) => {
  for (let n = 0; n < count; n += 1) await course.book({ start, ...more }, 'operator')
}
const atRisk = async () =>
  (await course.all('sessions')).filter(({ admission }) => admission.at_risk !== null).map(({ id }) => id)
const NONE = { affected: 0, sessions: [] }

it('counts the admitted sessions that a lower limit would leave without capacity', async () => {
  await booked(5)
  expect(await preview({ settings: { max_workers_per_region: 3 } })).toEqual(NONE)
  const { affected, sessions } = await preview({ settings: { max_workers_per_region: 2 } })
  expect(affected).toBe(1)
  expect(sessions).toMatchObject([{ id: expect.stringMatching(/^ls-/), definition: 'bgp', start }])
  expect(await preview({ settings: { scale_up_enabled: false } })).toMatchObject({ affected: 5 })
  expect(await preview({})).toEqual(NONE)
  await course.set({ max_workers_per_region: 11 })
  await booked(17)
  // The default is 10, and 22 sessions need 11 workers.
  expect(await preview({ settings: { max_workers_per_region: null } })).toMatchObject({ affected: 2 })
})

it('names exactly those that are at risk after the change, and not those that are already', async () => {
  await booked(6)
  const change = { max_workers_per_region: 2 }
  const { sessions } = await preview({ settings: change })
  await course.set(change)
  await course.tend()
  expect(await atRisk()).toEqual(sessions.map(({ id }: { id: string }) => id))
  expect(await preview({ settings: { max_workers_per_region: 1 } })).toMatchObject({ affected: 2 })
})

it('counts those of a template that is disabled and of a worker that is cordoned', async () => {
  const { id } = await course.serving()
  await course.set({ max_workers_per_region: 2 })
  await booked(2)
  expect(await preview({ removed_templates: ['metal'] })).toEqual(NONE)
  await course.set({ max_workers_per_region: 1 })
  expect(await preview({ closed_workers: [id] })).toMatchObject({ affected: 2 })
  expect((await course.get(id)).cordoned).toBe(false)
})

it('expects another worker instead of one that is terminated, if one may be bought', async () => {
  const { id } = await course.serving()
  await course.set({ max_workers_per_region: 1 })
  await booked(2)
  expect(await preview({ terminated_workers: [id] })).toEqual(NONE)
  expect(await preview({ terminated_workers: [id], removed_templates: ['metal'] })).toMatchObject({ affected: 2 })
})

it('counts those that need a license of a pool which gets smaller', async () => {
  const licensed = aCourse()
  await licensed.send('POST', 'license-pools', { json: { product: 'CML_Enterprise', seats: 2, token: 'x' } })
  await licensed.define()
  const nodes = Array.from(
    { length: 8 },
    (_, n) => `  - {id: n${n}, label: r${n}, node_definition: iol-xe, x: 0, y: 0}`,
  )
  const topology = TOPOLOGY.replace(/nodes:[\s\S]*links/, `nodes:\n${nodes.join('\n')}\nlinks`)
  await licensed.send('POST', 'lablet-definitions', { json: { name: 'wide', topology } })
  // A licensed worker runs 20 nodes: two such sessions.
  expect(
    (await licensed.send('POST', 'lablet-sessions/batch', { json: { definition: 'wide', start, seats: 4 } })).status,
  ).toBe(201)
  const affectedWith = async (change: object) =>
    (await licensed.send('POST', 'capacity/preview', { json: { license_pools: [change] } })).json.affected
  expect(await affectedWith({ product: 'CML_Enterprise', seats: 2 })).toBe(0)
  expect(await affectedWith({ product: 'CML_Enterprise', seats: 1 })).toBe(2)
  expect(await affectedWith({ product: 'CML_Enterprise', seats: 0 })).toBe(4)
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
