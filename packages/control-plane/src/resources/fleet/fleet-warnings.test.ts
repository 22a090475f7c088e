import { toInstant } from '@lcm/domain/instant'
import { beforeEach, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

const HOUR_MS = 3_600_000

let course: Course
beforeEach(() => {
  course = aCourse()
})

const allWarnings = async () => (await course.send('GET', 'fleet/warnings', { as: 'operator' })).json
/** Without those of licenses, which the template of these tests has. */
const warnings = async () => {
  const { items, ...rest } = await allWarnings()
  return { ...rest, items: items.filter(({ kind }: { kind: string }) => kind !== 'license') }
}
const set = (json: object) => course.send('PATCH', 'settings', { json })
const metrics = async () => String((await course.send('GET', '/metrics', { as: 'user' })).body)

it('are none without a budget and with enough workers', async () => {
  await course.running()
  await course.book()
  expect(await warnings()).toEqual({ at: toInstant(course.clock.now()), budgets: [], items: [] })
  expect(await metrics()).not.toContain('fleet_budget_usd{')
})

it('say from 80 % of a budget on how much is spent and left', async () => {
  await course.running()
  await set({ budget_usd_per_day: 20, budget_usd_per_month: 1000 })
  await course.clock.advance(3 * HOUR_MS)
  const before = await warnings()
  expect(before.items).toEqual([])
  expect(before.budgets).toMatchObject([
    { period: 'day', from: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z', limit_usd: 20 },
    { period: 'month', until: '2026-02-01T00:00:00.000Z', limit_usd: 1000 },
  ])
  const [{ spent_usd, committed_usd, left_usd }] = before.budgets
  expect(spent_usd).toBeGreaterThan(12)
  expect(spent_usd + committed_usd + left_usd).toBeCloseTo(20, 9)
  await course.clock.advance(1.2 * HOUR_MS)
  expect((await warnings()).items).toMatchObject([
    {
      id: 'budget:day',
      kind: 'budget',
      is_critical: false,
      reason: { code: 'budget_short' },
      fix: { code: 'fix_budget' },
    },
  ])
  await course.clock.advance(HOUR_MS)
  expect((await warnings()).items).toMatchObject([{ is_critical: true, reason: { code: 'budget_used_up' } }])
  expect(await metrics()).toMatch(/fleet_budget_usd\{period="day"\} 20\n[\s\S]*fleet_warnings\{kind="budget"\} 1\n/)
  await course.clock.advance(24 * HOUR_MS)
  await set({ budget_usd_per_day: 'off' })
  expect((await warnings()).items).toEqual([])
})

it('say when more is booked than the limits allow', async () => {
  await course.create()
  await set({ max_workers_per_region: 1 })
  const start = toInstant(course.clock.now() + 30 * HOUR_MS)
  // Without a license a worker runs five nodes: two such sessions.
  for (let n = 0; n < 5; n += 1) await course.book({ start, best_effort: true }, 'operator')
  const { items } = await warnings()
  expect(items).toMatchObject([
    {
      id: 'workers:us-east-1',
      kind: 'capacity_ahead',
      reason: { code: 'workers_short_ahead', params: { needed: 3, limit: 1, sessions: 3 } },
      fix: { code: 'fix_max_workers', params: { workers: 3 } },
    },
  ])
  await set({ max_workers_per_region: 3 })
  expect((await warnings()).items).toEqual([])
})

it('name templates and definitions that a license does not fit', async () => {
  await course.define()
  expect((await allWarnings()).items).toMatchObject([
    { id: 'license:template:metal', kind: 'license', reason: { code: 'template_beyond_license' } },
  ])
  await course.send('POST', 'worker-templates/metal/disable')
  expect((await allWarnings()).items).toEqual([])
})

it('are for operators', async () => {
  for (const as of ['user', 'author', 'controller'] as const)
    expect((await course.send('GET', 'fleet/warnings', { as })).status).toBe(403)
})
