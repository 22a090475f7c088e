import { toInstant } from '@lcm/domain/instant'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

const HOUR_MS = 3_600_000
/** 64 GB, per hour. */
const DISK = (64 * 0.08) / 730
let fleet: Fleet
beforeEach(async () => {
  fleet = aFleet()
  await fleet.send('POST', 'worker-templates', { json: { ...METAL, cost_per_hour_usd: 3.6 } })
})

const cost = async (query = '') => (await fleet.send('GET', `fleet/cost?${query}`, { as: 'user' })).json
const hours = (count: number) => fleet.clock.advance(count * HOUR_MS)

it('is listed by worker, most expensive first, and adds up to the summary', async () => {
  const cheap = await fleet.running()
  await hours(1)
  await fleet.act(cheap.id, 'stop')
  await fleet.moveTo(cheap.id, 'STOPPING', 'STOPPED')
  const dear = await fleet.running()
  await hours(5)
  const { items, spent_usd, saved_usd, by_cause } = await cost()
  expect(items.map((item: { worker_id: string }) => item.worker_id)).toEqual([dear.id, cheap.id])
  expect(items[0]).toMatchObject({ name: dear.name, by_cause: { idle: expect.closeTo(5 * 3.6, 1), session: 0 } })
  expect(items[1].spent_usd).toBeCloseTo(3.6, 1)
  const summary = (await fleet.send('GET', 'fleet/summary', {})).json
  expect({ spent_usd, saved_usd, by_cause }).toEqual({
    spent_usd: expect.closeTo(summary.cost.spent_usd, 9),
    saved_usd: 0,
    by_cause: expect.objectContaining({ idle: expect.closeTo(summary.cost.by_cause.idle, 9) }),
  })
})

it('counts only the requested period, and names the worker whose pauses saved money', async () => {
  const { id } = await fleet.running()
  await hours(3)
  const evidence = { last_activity_at: null, running_nodes: 0 }
  await fleet.fenced('POST', `workers/${id}/idle-checks`, { evidence })
  await fleet.moveTo(id, 'STOPPING', 'STOPPED')
  await hours(10)
  const since = toInstant(fleet.clock.now() - 4 * HOUR_MS)
  expect(await cost(`since=${since}`)).toMatchObject({
    since,
    spent_usd: expect.closeTo(4 * DISK, 9),
    items: [
      {
        worker_id: id,
        spent_usd: expect.closeTo(4 * DISK, 9),
        by_cause: { disk: expect.closeTo(4 * DISK, 9) },
        saved_usd: expect.closeTo(4 * 3.6, 5),
      },
    ],
  })
})

it('includes workers whose record is deleted, and leaves out workers without cost', async () => {
  await fleet.create()
  const { id } = await fleet.running()
  await hours(1)
  await fleet.act(id, 'terminate')
  await fleet.moveTo(id, 'TERMINATING', 'TERMINATED')
  await fleet.send('DELETE', `workers/${id}`)
  expect((await cost()).items).toMatchObject([{ worker_id: id, name: null, spent_usd: expect.closeTo(3.6, 1) }])
})

it('names workers whose price is unknown instead of counting them as free', async () => {
  const machine = { aws_region: 'us-east-1', status: 'STARTING', ...NOTHING_KNOWN }
  const found = (instance_type: string, n: number) =>
    fleet.fenced('POST', 'workers/imports', {
      ...machine,
      name: instance_type,
      ec2_instance_id: `i-000${n}`,
      instance_type,
    })
  await found('q9.metal', 1)
  await found('c5.metal', 2)
  await hours(2)
  const { items, unknown_prices, spent_usd } = await cost()
  expect({ unknown_prices, spent_usd }).toEqual({ unknown_prices: 1, spent_usd: expect.closeTo(2 * 4.08, 1) })
  expect(items).toMatchObject([
    { name: 'c5.metal', is_price_known: true },
    { name: 'q9.metal', is_price_known: false, spent_usd: 0 },
  ])
  expect((await fleet.send('GET', 'fleet/summary', {})).json.cost).toMatchObject({ unknown_prices: 1 })
})

it('still says so after the machine is gone, and after its price became known', async () => {
  const gone = await fleet.running()
  const priced = await fleet.running()
  for (const { id } of [gone, priced]) await fleet.edit(id, () => ({ cost_per_hour_usd: null }))
  await hours(5)
  await fleet.act(gone.id, 'terminate')
  await fleet.moveTo(gone.id, 'TERMINATING', 'TERMINATED')
  await fleet.moveTo(priced.id, 'STARTING')
  await fleet.edit(priced.id, () => ({ cost_per_hour_usd: 3.6 }))
  await hours(1)
  const { items, unknown_prices } = await cost()
  expect(unknown_prices).toBe(2)
  expect(items.map((item: { is_price_known: boolean }) => item.is_price_known)).toEqual([false, false])
  const lastHour = await cost(`since=${toInstant(fleet.clock.now() - HOUR_MS / 2)}`)
  expect(lastHour).toMatchObject({ unknown_prices: 0, items: [{ worker_id: priced.id, is_price_known: true }] })
})

it('counts an interval once that ends while the costs are read', async () => {
  const { id } = await fleet.running()
  await hours(10)
  const { query } = fleet.store.journal
  Object.assign(fleet.store.journal, {
    async query(...args: Parameters<typeof query>) {
      Object.assign(fleet.store.journal, { query })
      await fleet.moveTo(id, 'STOPPING')
      return query(...args)
    },
  })
  const during = await cost()
  expect(during.spent_usd).toBeCloseTo(10 * (3.6 + DISK), 1)
  expect((await cost()).spent_usd).toBeCloseTo(during.spent_usd, 1)
})

const NOTHING_KNOWN = {
  ami_id: null,
  availability_zone: null,
  public_ip: null,
  private_ip: null,
  https_endpoint: null,
  cml_version: null,
}
