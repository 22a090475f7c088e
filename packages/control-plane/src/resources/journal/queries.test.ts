import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

interface Item {
  readonly id: string
  readonly at: string
}

const nothing = () => Promise.resolve()

/** All pages of a list. `between` runs before each page but the first. */
async function pages(path: string, limit: number, between: () => Promise<void> = nothing): Promise<Item[][]> {
  const all: Item[][] = []
  let cursor = ''
  for (;;) {
    const { status, json } = await fleet.send('GET', `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${cursor}`)
    expect(status).toBe(200)
    all.push(json.items)
    if (json.next_cursor === null) return all
    cursor = `&cursor=${encodeURIComponent(json.next_cursor)}`
    await between()
  }
}

const decide = (decisions: readonly object[], by: 'worker-controller' | 'resource-scheduler' = 'worker-controller') =>
  fleet.send('POST', 'decisions', { headers: fleet.asService(by), json: { epoch: 3, decisions } })
const decision = (id: string, worker: string, at: string, more: object = {}) => ({
  id,
  at,
  resource: `worker:${worker}`,
  action: 'wait',
  because: textReason('not yet'),
  ...more,
})

describe('the history of a worker', () => {
  it('has every transition, newest first, with actor and reason', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'stop')
    await fleet.moveTo(id, 'STOPPING', 'FAILED')
    await fleet.act(id, 'retry')
    const { items } = (await fleet.send('GET', `workers/${id}/history`, { as: 'operator' })).json
    expect(items.map(({ from, to, by }: { from: string; to: string; by: string }) => [from, to, by])).toEqual([
      ['FAILED', 'STARTING', 'admin'],
      ['STOPPING', 'FAILED', 'controller'],
      ['RUNNING', 'STOPPING', 'controller'],
      ['STARTING', 'RUNNING', 'controller'],
      ['PROVISIONING', 'STARTING', 'controller'],
      ['PENDING', 'PROVISIONING', 'controller'],
      [null, 'PENDING', 'admin'],
    ])
    const inDocument = [...(await fleet.get(id)).state_history].reverse()
    expect(items.map(({ id: _, by: __, ...change }: Record<string, unknown>) => change)).toEqual(inDocument)
  })

  it('continues beyond the history in the document', async () => {
    const { id } = await fleet.running()
    for (let n = 0; n < 15; n += 1) await fleet.moveTo(id, 'STARTING', 'STOPPED', 'STARTING', 'RUNNING')
    expect((await fleet.get(id)).state_history).toHaveLength(50)
    expect((await pages(`workers/${id}/history`, 7)).flat()).toHaveLength(64)
  })

  it('contains one worker only', async () => {
    const [a, b] = [await fleet.running(), await fleet.create()]
    expect((await pages(`workers/${a.id}/history`, 100)).flat()).toHaveLength(4)
    expect((await pages(`workers/${b.id}/history`, 100)).flat()).toHaveLength(1)
    expect(await fleet.send('GET', 'workers/w-none/history')).toMatchObject({ status: 404 })
  })
})

describe('the decisions about a worker', () => {
  it('include those with and without a write, in order', async () => {
    const { id, version } = await fleet.running()
    await fleet.clock.advance(1_000)
    expect(await decide([decision('d-1', id, toInstant(fleet.clock.now()))])).toMatchObject({ status: 204, body: null })
    await fleet.clock.advance(1_000)
    await fleet.report(id, version, { service_status: 'AVAILABLE' }, 1)
    const { items } = (await fleet.send('GET', `workers/${id}/decisions?limit=3`, { as: 'operator' })).json
    expect(items).toMatchObject([
      {
        action: 'health_ok',
        because: { code: 'health_restored', params: { before: 'DOWN' } },
        service: 'control-plane-api',
        resource: `worker:${id}`,
      },
      {
        action: 'write',
        because: { message: 'the test says so' },
        epoch: 1,
        service: 'worker-controller',
        resource: `worker:${id}`,
      },
      { id: 'worker-controller:d-1', action: 'wait', epoch: 3, guards: [], seen: {}, outcome: '', duration_ms: 0 },
    ])
  })

  it('are recorded once when they are sent again', async () => {
    const { id } = await fleet.create()
    const one = decision('d-1', id, toInstant(fleet.clock.now()))
    await decide([one, one])
    await decide([one, { ...one, because: textReason('another story') }, { ...one, id: 'd-2' }])
    const { items } = (await fleet.send('GET', `workers/${id}/decisions`)).json
    expect(items.map((each: Item) => each.id)).toEqual(['worker-controller:d-2', 'worker-controller:d-1'])
    expect(items[1].because.message).toBe('not yet')
    await decide([one], 'resource-scheduler')
    expect((await fleet.send('GET', `workers/${id}/decisions`)).json.items).toHaveLength(3)
  })

  it('keep the observation and every guard', async () => {
    const { id } = await fleet.create()
    const more = {
      cause: 'watch',
      seen: { version: 3, state: 'running', absent: false, ip: null },
      guards: [{ name: 'age_seconds', value: 3, limit: 60, passed: false }],
      outcome: 'done',
      duration_ms: 12.5,
    }
    await decide([decision('d-1', id, toInstant(fleet.clock.now()), more)])
    expect((await fleet.send('GET', `workers/${id}/decisions`)).json.items[0]).toMatchObject(more)
  })

  it.each([
    { resource: 'token:tk-1' },
    { resource: 'w-1' },
    { at: 'now' },
    { because: { code: '', message: '', params: {} } },
    { color: 'red' },
    { guards: Array(21).fill({ name: 'x', value: 1, limit: 1, passed: true }) },
  ])('are refused with %j', async more => {
    expect(await decide([decision('d-1', 'w-1', toInstant(0), more)])).toMatchObject({ status: 400 })
  })

  it('are accepted from controllers only', async () => {
    expect((await fleet.send('POST', 'decisions', { json: { epoch: 1, decisions: [] } })).status).toBe(403)
  })
})

describe('pages', () => {
  /** Sixty decisions in twenty instants, so that pages end within one. */
  async function sixty(): Promise<string> {
    const { id } = await fleet.create()
    const at = (n: number) => toInstant(fleet.clock.now() + Math.floor(n / 3) * 1_000)
    await decide(Array.from({ length: 60 }, (_, n) => decision(`d-${n}`, id, at(n))))
    return id
  }

  it.each([1, 2, 7, 20, 59, 60, 61])('of %i lead to the end without loss or repetition', async limit => {
    const id = await sixty()
    const found = await pages(`workers/${id}/decisions`, limit)
    expect(found.slice(0, -1).every(page => page.length === limit)).toBe(true)
    const all = found.flat()
    expect(new Set(all.map(item => item.id)).size).toBe(60)
    expect(all).toHaveLength(60)
    expect(all.map(item => item.at)).toEqual(
      all
        .map(item => item.at)
        .sort()
        .reverse(),
    )
  })

  it('are not shifted by newer entries', async () => {
    const id = await sixty()
    let n = 0
    const later = async () => {
      n += 1
      await decide([decision(`later-${n}`, id, toInstant(fleet.clock.now() + 3_600_000 + n))])
    }
    const all = (await pages(`workers/${id}/decisions`, 7, later)).flat()
    expect(new Set(all.map(item => item.id)).size).toBe(60)
    expect(all).toHaveLength(60)
  })

  it('begin at `from` and end before `to`', async () => {
    const id = await sixty()
    const start = fleet.clock.now()
    const [from, to] = [toInstant(start + 3_000), toInstant(start + 6_000)]
    const all = (await pages(`workers/${id}/decisions?from=${from}&to=${to}`, 4)).flat()
    expect(all.map(item => item.at)).toEqual([5, 4, 3].flatMap(s => Array(3).fill(toInstant(start + s * 1_000))))
    expect((await pages(`workers/${id}/decisions?from=${toInstant(start + 20_000)}`, 4)).flat()).toEqual([])
  })

  it.each(['limit=0', 'limit=1001', 'from=yesterday', 'cursor=x', 'cursor=~x', 'color=red'])(
    'refuse ?%s',
    async query => {
      const { id } = await fleet.create()
      for (const list of [`workers/${id}/decisions`, `workers/${id}/history`, 'audit'])
        expect(await fleet.send('GET', `${list}?${query}`), list).toMatchObject({
          status: 400,
          json: { code: 'validation_failed' },
        })
    },
  )

  it('of the audit lead to its end, for all resources or one', async () => {
    const { id } = await fleet.create()
    await fleet.create({ name: 'other' })
    for (let n = 0; n < 25; n += 1)
      await fleet.send('PATCH', `workers/${id}`, { json: { name: `name-${n}` }, as: 'operator' })
    const all = (await pages('audit', 4)).flat()
    expect(all).toHaveLength(28)
    expect(new Set(all.map(item => item.id)).size).toBe(28)
    const one = (await pages(`audit?resource=worker:${id}`, 4)).flat()
    expect(one).toHaveLength(26)
    expect(one[0]).toMatchObject({
      actor: { id: 'operator', name: 'operator', role: 'operator' },
      action: 'patch',
      resource: `worker:${id}`,
      before: { name: 'name-23' },
      after: { name: 'name-24' },
    })
  })
})

describe('the audit with scaling', () => {
  it('contains actions of policies and people in the same form', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'stop')
    const { items } = (await fleet.send('GET', 'audit?scaling=true', { as: 'operator' })).json
    const bought = items.find((entry: { action: string }) => entry.action === 'provisioned')
    expect(bought).toMatchObject({
      resource: `worker:${id}`,
      actor: { name: 'scaling', role: 'policy' },
      before: {},
      after: { instance_id: expect.stringMatching(/^i-/) },
      reason: '',
    })
    expect(items[0]).toMatchObject({ action: 'stop', actor: { name: 'admin' } })
    const ats = items.map((entry: Item) => entry.at)
    expect(ats).toEqual(ats.toSorted().toReversed())
  })

  it('leaves out policies by default', async () => {
    await fleet.running()
    const { items } = (await fleet.send('GET', 'audit')).json
    expect(items.map((entry: { action: string }) => entry.action)).not.toContain('provisioned')
  })
})
