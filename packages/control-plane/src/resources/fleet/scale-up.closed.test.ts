import { openSqliteStore } from '@lcm/store/sqlite/store'
import { type Collection, type Document, type Kind, type Store, StoreError } from '@lcm/store/store'
import { METAL } from '@lcm/testkit/a-control-plane'
import { expect, it } from 'vitest'
import { aFleet } from '../../testing/a-fleet.ts'

/** A store in which one operation of one kind fails for a while, such as `worker list`. */
function blindStore(): { store: Store; isBlindFor: Set<string> } {
  const inner = openSqliteStore(':memory:')
  const isBlindFor = new Set<string>()
  function collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const sighted = inner.collection(kind)
    const seen = <A>(way: string, read: () => Promise<A>): Promise<A> =>
      isBlindFor.has(`${kind.name} ${way}`) ? Promise.reject(new StoreError('unreachable')) : read()
    return {
      ...sighted,
      get: id => seen('get', () => sighted.get(id)),
      list: query => seen('list', () => sighted.list(query)),
    }
  }
  return { store: { ...inner, collection }, isBlindFor }
}

it.each(['worker list', 'settings get', 'fleet_scaling get'])(
  'D-18: buys nothing while a %s fails, and once after it succeeds',
  async blind => {
    const { store, isBlindFor } = blindStore()
    const fleet = aFleet({ store })
    await fleet.send('POST', 'worker-templates', { json: METAL })
    const purchase = { template_name: 'metal', aws_region: 'us-east-1', count: 2, session_ids: ['ls-1'] }
    const buy = (key: string) =>
      fleet.fenced('POST', 'workers/scale-up', { ...purchase, key }, { by: 'resource-scheduler' })
    const count = async () => (await fleet.send('GET', 'workers')).json.items.length
    expect((await buy('k1')).status).toBe(201)
    for (const { id } of (await fleet.send('GET', 'workers')).json.items)
      await fleet.edit(id, () => ({ status: 'TERMINATED' }))
    await fleet.clock.advance(3_600_000)
    isBlindFor.add(blind)
    expect((await buy('k2')).status).toBe(503)
    isBlindFor.clear()
    expect(await count()).toBe(0)
    await buy('k2')
    expect(await count()).toBe(2)
  },
)
