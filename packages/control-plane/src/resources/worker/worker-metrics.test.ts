import { toInstant } from '@lcm/domain/instant'
import { NO_METRICS } from '@lcm/testkit/observation-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'
import { labCountSeries } from './worker-view.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const measure = (id: string, sample: object, as: 'controller' | 'admin' = 'controller') =>
  fleet.send('POST', `workers/${id}/metrics`, { as, json: { collected_at: toInstant(fleet.clock.now()), ...sample } })
const metrics = async (id: string, query = '') =>
  (await fleet.send('GET', `workers/${id}/metrics?${query}`, { as: 'user' })).json

describe('a sample', () => {
  it('is part of its worker in reads, and does not change its version', async () => {
    const worker = await fleet.running()
    expect(worker).toMatchObject({ utilization: null, nodes_count: null, system_health: null, labs_count: null })
    const at = toInstant(fleet.clock.now())
    const sample = { cpu_utilization: 12.5, memory_utilization: 40, nodes_count: 7, system_health: { valid: true } }
    expect(await measure(worker.id, sample)).toMatchObject({ status: 204, body: null })
    const read = await fleet.get(worker.id)
    const { cost, ...rest } = worker
    expect(read).toMatchObject({
      ...rest,
      utilization: { cpu: 12.5, memory: 40, disk: null, at },
      nodes_count: 7,
      system_health: { valid: true },
    })
    expect((await fleet.send('GET', 'workers')).json.items).toEqual([read])
  })

  it('is replaced by a newer one, not by a late one', async () => {
    const { id } = await fleet.running()
    await measure(id, { cpu_utilization: 1 })
    await fleet.clock.advance(60_000)
    await measure(id, { cpu_utilization: 2 })
    await measure(id, { cpu_utilization: 3, collected_at: toInstant(fleet.clock.now() - 30_000) })
    expect((await fleet.get(id)).utilization?.cpu).toBe(2)
  })

  it('belongs to its worker', async () => {
    const [a, b] = [await fleet.running({ name: 'a' }), await fleet.running({ name: 'b' })]
    await measure(a.id, { cpu_utilization: 1 })
    const { items } = (await fleet.send('GET', 'workers?q=b')).json
    expect([items.length, items[0].utilization]).toEqual([1, null])
    expect((await metrics(b.id)).items).toEqual([])
    expect(await measure('w-none', {})).toMatchObject({ status: 404 })
  })

  it('has null for unknown values, never 0', async () => {
    const { id } = await fleet.running()
    await measure(id, {})
    expect((await metrics(id)).items).toEqual([
      {
        collected_at: toInstant(fleet.clock.now()),
        ...NO_METRICS,
        labs_count: null,
      },
    ])
  })

  it('has the number of labs at its time', async () => {
    const { id } = await fleet.running()
    const start = fleet.clock.now()
    const count = (minutes: number, labs: number) => ({
      series: labCountSeries(id),
      at: toInstant(start + minutes * 60_000),
      body: { count: labs },
    })
    await fleet.store.series.append([count(1.5, 4), count(1.6, 5), count(3, 0), count(9, 7)])
    for (let minute = 0; minute < 5; minute += 1) {
      await measure(id, {})
      await fleet.clock.advance(60_000)
    }
    const labs = (page: { items: { labs_count: number | null }[] }) => page.items.map(item => item.labs_count)
    expect(labs(await metrics(id))).toEqual([0, 0, 5, null, null])
    expect(labs(await metrics(id, `from=${toInstant(start + 4 * 60_000)}`))).toEqual([0])
  })

  it.each([{ cpu_utilization: 101 }, { nodes_count: -1 }, { collected_at: 'now' }, { color: 'red' }])(
    'is refused with %j',
    async sample => {
      const { id } = await fleet.running()
      expect((await measure(id, sample)).status).toBe(400)
    },
  )

  it('is accepted from the worker-controller only', async () => {
    const { id } = await fleet.running()
    expect((await measure(id, {}, 'admin')).status).toBe(403)
  })
})

describe('pages of samples', () => {
  async function twenty(): Promise<{ id: string; at: (n: number) => string }> {
    const { id } = await fleet.running()
    const start = fleet.clock.now()
    for (let n = 0; n < 20; n += 1) {
      await measure(id, { nodes_count: n })
      await fleet.clock.advance(60_000)
    }
    return { id, at: n => toInstant(start + n * 60_000) }
  }
  const counts = (items: { nodes_count: number }[]) => items.map(item => item.nodes_count)

  it.each([1, 3, 19, 20, 21])('of %i lead to the end, newest first', async limit => {
    const { id } = await twenty()
    const all: number[] = []
    for (let cursor = ''; ; ) {
      const page = await metrics(id, `limit=${limit}${cursor}`)
      all.push(...counts(page.items))
      if (page.next_cursor === null) break
      cursor = `&cursor=${page.next_cursor}`
    }
    expect(all).toEqual(Array.from({ length: 20 }, (_, n) => 19 - n))
  })

  it('begin at `from` and end before `to`', async () => {
    const { id, at } = await twenty()
    const page = await metrics(id, `from=${at(5)}&to=${at(9)}&limit=3`)
    expect(counts(page.items)).toEqual([8, 7, 6])
    expect(counts((await metrics(id, `from=${at(5)}&to=${at(9)}&cursor=${page.next_cursor}`)).items)).toEqual([5])
  })

  it.each(['cursor=x', 'limit=0', 'from=x'])('refuse ?%s', async query => {
    const { id } = await fleet.running()
    expect(await fleet.send('GET', `workers/${id}/metrics?${query}`)).toMatchObject({
      status: 400,
      json: { code: 'validation_failed' },
    })
  })
})
