import { reason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const SCHEDULER = 'resource-scheduler'
const NOTHING = { machines: 0, steps: 0, session_ids: 0, unplaced: 0 }
const planOf = (...keys: string[]) => ({
  at: '2026-01-01T00:00:00.000Z',
  until: '2026-01-03T00:00:00.000Z',
  machines: keys.map(key => ({ key, worker_id: key, template_name: 'metal', session_ids: ['ls-1'], steps: [] })),
  unplaced: [{ session_id: 'ls-2', because: reason('not_given') }],
  usd: 3,
  left_out: NOTHING,
})
const put = (body: object, epoch = 1) => fleet.fenced('PUT', 'plan', body, { by: SCHEDULER, epoch })
const get = (as = 'operator') => fleet.send('GET', 'plan', { as: as as 'operator' })
const beat = (report: object = {}) =>
  fleet.send('PUT', `services/${SCHEDULER}/instances/one`, {
    headers: fleet.asService(SCHEDULER),
    json: { ...BEAT, ...report },
  })
const BEAT = {
  is_leader: true,
  epoch: 1,
  since: null,
  software: '0.0.0',
  queue: { due: 0, active: 0 },
  retries: 0,
  watch: { healthy: true, age_seconds: null },
  last_sweep: null,
  plan: [],
}

describe('the plan', () => {
  it('is empty until the scheduler has stored one', async () => {
    expect(await get()).toMatchObject({ status: 200, json: { version: 0, machines: [], is_current: false } })
    expect(await put(planOf('w-1'))).toMatchObject({
      status: 200,
      json: { version: 1, machines: 1, unplaced: 1, usd: 3 },
    })
    const { status, json } = await get()
    expect(status).toBe(200)
    expect(json).toEqual({
      ...planOf('w-1'),
      ...{ id: 'fleet', version: 1, updated_at: expect.any(String), is_current: false },
    })
  })

  it('is replaced as a whole', async () => {
    await put(planOf('w-1'))
    expect((await put(planOf('w-2', 'w-3'))).json).toMatchObject({ version: 2, machines: 2 })
    expect((await get()).json.machines.map(({ key }: { key: string }) => key)).toEqual(['w-2', 'w-3'])
  })

  it('is refused from a leader whose term is over', async () => {
    await put(planOf('w-2'), 2)
    const headers = { ...fleet.asService(SCHEDULER), 'lcm-epoch': '1' }
    expect((await fleet.send('PUT', 'plan', { headers, json: planOf('w-1') })).json.code).toBe('stale_leader')
    expect((await get()).json.machines).toMatchObject([{ key: 'w-2' }])
  })

  it('is read by operators only, and so are its events', async () => {
    for (const as of ['user', 'author']) expect((await get(as)).status).toBe(403)
    const [operator, user] = [await fleet.follow('', 'operator'), await fleet.follow('', 'user')]
    await put(planOf('w-1'))
    await put(planOf('w-2'))
    const kinds = (events: readonly { type: string }[]) =>
      events.map(({ type }) => type).filter(type => type !== 'heartbeat')
    const seen = await operator.seen()
    expect(kinds(seen)).toEqual(['plan.created', 'plan.updated'])
    expect(seen.at(-1)).toMatchObject({ id: 'fleet', version: 2, data: { machines: 1, usd: 3 } })
    expect(JSON.stringify(seen)).not.toContain('ls-1')
    expect(kinds(await user.seen())).toEqual([])
    await Promise.all([operator.stop(), user.stop()])
  })
})

describe('the plan is current', () => {
  const isCurrent = async () => (await get()).json.is_current

  it('while the leader that stored it completes its cycles', async () => {
    await put(planOf('w-1'))
    await beat()
    expect(await isCurrent()).toBe(true)
    await beat({ retries: 1 })
    expect(await isCurrent()).toBe(false)
    await beat()
    await fleet.clock.advance(29_000)
    expect(await isCurrent()).toBe(true)
    await fleet.clock.advance(2_000)
    expect(await isCurrent()).toBe(false)
  })

  it('not while a new leader has not stored its own', async () => {
    await put(planOf('w-1'))
    await fleet.send('PUT', `services/${SCHEDULER}/term`, {
      headers: fleet.asService(SCHEDULER),
      json: { epoch: 2, instance_id: 'one' },
    })
    await beat({ epoch: 2 })
    expect(await isCurrent()).toBe(false)
    await put(planOf('w-1'), 2)
    expect(await isCurrent()).toBe(true)
  })

  it('not without a leader', async () => {
    await put(planOf('w-1'))
    await beat({ is_leader: false })
    expect(await isCurrent()).toBe(false)
  })
})
