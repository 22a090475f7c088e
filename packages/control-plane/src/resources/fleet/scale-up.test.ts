import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let fleet: Fleet
beforeEach(async () => {
  fleet = aFleet()
  await fleet.send('POST', 'worker-templates', { json: METAL })
  await fleet.send('POST', 'worker-templates', { json: { ...METAL, name: 'small' } })
})

const PURCHASE = { template_name: 'metal', aws_region: 'us-east-1', count: 2, session_ids: ['ls-1', 'ls-2'] }
const buy = (key: string, more: object = {}) =>
  fleet.fenced('POST', 'workers/scale-up', { ...PURCHASE, ...more, key }, { by: 'resource-scheduler' })
const set = (json: object) => fleet.send('PATCH', 'settings', { json })
const workers = async () => (await fleet.send('GET', 'workers')).json.items
const idsOf = ({ json }: { json: { workers: { id: string }[] } }) => json.workers.map(worker => worker.id).sort()
const outcomes = async () =>
  (await fleet.journal('scaling', 'fleet_scaling:fleet')).map(({ body }) => ('outcome' in body ? body.outcome : ''))

describe('a purchase', () => {
  it('creates the requested workers, for the waiting sessions', async () => {
    const { status, json } = await buy('k1')
    expect(status).toBe(201)
    expect(json.workers).toHaveLength(2)
    expect(json.workers).toEqual(await workers())
    for (const worker of json.workers)
      expect(worker).toMatchObject({
        origin: 'SCALE_UP',
        status: 'PENDING',
        desired_status: 'RUNNING',
        desired_by: 'resource-scheduler',
        template_name: 'metal',
        aws_region: 'us-east-1',
        wanted_by: ['ls-1', 'ls-2'],
        cost_per_hour_usd: 4,
        fence: { 'resource-scheduler': 1 },
      })
    const [entry] = await fleet.journal('scaling', 'fleet_scaling:fleet')
    expect(entry?.body).toMatchObject({
      ...PURCHASE,
      outcome: 'scale_up_accepted',
      key: 'k1',
      worker_ids: idsOf({ json }),
    })
  })

  it('returns the same workers when it is repeated with the same key', async () => {
    const first = await buy('k1')
    const again = await Promise.all([buy('k1'), buy('k1', { count: 5 }), buy('k1')])
    for (const answer of again) expect([answer.status, idsOf(answer)]).toEqual([200, idsOf(first)])
    expect(await workers()).toHaveLength(2)
    expect(await outcomes()).toEqual(['scale_up_accepted'])
  })

  it('is made once when the first requests are concurrent', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => buy('k1')))
    expect(answers.map(answer => answer.status).sort()).toEqual([...Array(9).fill(200), 201])
    expect(new Set(answers.map(answer => idsOf(answer).join())).size).toBe(1)
    expect(await workers()).toHaveLength(2)
  })

  it.each([0, 1])('is completed after a crash that created %i of its workers', async skip => {
    fleet.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', skip, run: crash })
    expect((await buy('k1')).status).toBe(503)
    expect(await workers()).toHaveLength(skip)
    const planned = (await fleet.scaling())?.purchases['metal/us-east-1']?.worker_ids
    const again = await buy('k1')
    expect([again.status, idsOf(again)]).toEqual([200, [...(planned ?? [])].sort()])
    expect((await workers()).map((worker: { id: string }) => worker.id).sort()).toEqual(idsOf(again))
  })

  it('does not change its workers when it is repeated', async () => {
    const [id = ''] = idsOf(await buy('k1'))
    await fleet.moveTo(id, 'PROVISIONING')
    const moved = await fleet.get(id)
    expect((await buy('k1')).json.workers).toContainEqual(moved)
  })
})

describe('another purchase is refused', () => {
  const refused = async (key: string, because: object, more: object = {}) => {
    const before = await workers()
    const answer = await buy(key, more)
    expect(answer).toMatchObject({ status: 409, json: { code: 'scale_up_rejected', reason: because } })
    expect(answer.json.detail).toBe(answer.json.reason.message)
    expect(await workers()).toEqual(before)
    const [entry] = await fleet.journal('scaling', 'fleet_scaling:fleet')
    expect(entry?.body).toMatchObject({ outcome: 'scale_up_rejected', key, because })
  }

  it('within the cooldown', async () => {
    const ids = idsOf(await buy('k1'))
    for (const id of ids) await fleet.moveTo(id, 'PROVISIONING', 'STARTING', 'RUNNING')
    await refused('k2', { code: 'scale_up_cooldown', params: { template: 'metal' } })
    await fleet.clock.advance(300_000)
    expect((await buy('k2')).status).toBe(201)
  })

  it('but not because a worker of the last purchase is stopping or undesired', async () => {
    const [first = '', second = ''] = idsOf(await buy('k1'))
    await fleet.moveTo(first, 'PROVISIONING', 'STARTING', 'RUNNING')
    await fleet.act(first, 'drain')
    await fleet.moveTo(first, 'DRAINING')
    await fleet.act(second, 'stop')
    await fleet.clock.advance(400_000)
    expect((await buy('k2')).status).toBe(201)
  })

  it('while the previous one is in progress', async () => {
    const [first = '', second = ''] = idsOf(await buy('k1'))
    await fleet.clock.advance(400_000)
    await refused('k2', { code: 'scale_up_in_progress', params: { workers: 2 } })
    await fleet.moveTo(first, 'PROVISIONING', 'STARTING', 'RUNNING')
    await fleet.moveTo(second, 'PROVISIONING')
    await refused('k2', { code: 'scale_up_in_progress', params: { workers: 1 } })
    await fleet.moveTo(second, 'FAILED')
    expect((await buy('k2')).status).toBe(201)
  })

  it.each(['DRAINING', 'STOPPING', 'TERMINATING'] as const)('but not while the previous one is %s', async status => {
    const ids = idsOf(await buy('k1'))
    await fleet.clock.advance(400_000)
    for (const id of ids) await fleet.edit(id, () => ({ status }))
    expect((await buy('k2')).status).toBe(201)
  })

  it('in another region only by its own cooldown', async () => {
    await buy('k1')
    expect((await buy('k2', { aws_region: 'eu-west-1' })).status).toBe(201)
    expect((await buy('k3', { template_name: 'small' })).status).toBe(201)
  })

  it('for another hour only by its own cooldown', async () => {
    const first = await buy('k1', { group: '2026-01-02T09' })
    expect((await buy('k2', { group: '2026-01-02T10' })).status).toBe(201)
    await refused('k3', { code: 'scale_up_cooldown' }, { group: '2026-01-02T09' })
    expect(idsOf(await buy('k1', { group: '2026-01-02T09' }))).toEqual(idsOf(first))
    expect(await workers()).toHaveLength(4)
  })

  it('for another hour beyond the limit, also when both are concurrent', async () => {
    await set({ max_workers_per_region: 5 })
    const answers = await Promise.all([9, 10, 11].map(hour => buy(`k${hour}`, { group: `2026-01-02T${hour}` })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409])
    expect(await workers()).toHaveLength(4)
  })

  it('until it is forgotten, because no other one must wait for it', async () => {
    for (const hour of [1, 2, 3]) await buy(`k${hour}`, { group: `hour-${hour}`, count: 1 })
    const [first] = await workers()
    await fleet.moveTo(first.id, 'PROVISIONING')
    for (const { id } of (await workers()).filter((worker: { id: string }) => worker.id !== first.id))
      await fleet.moveTo(id, 'PROVISIONING', 'STARTING', 'RUNNING')
    await fleet.clock.advance(601_000)
    await buy('k4', { group: 'hour-4', count: 1 })
    const left = Object.entries((await fleet.scaling())?.purchases ?? {})
    expect(left.map(([place]) => place)).toHaveLength(2)
    expect(left.flatMap(([, { worker_ids }]) => worker_ids)).toContain(first.id)
  })

  it('beyond max_workers_per_region, which counts every worker that is not terminated', async () => {
    await set({ max_workers_per_region: 3 })
    const mine = await fleet.create()
    await fleet.create({ aws_region: 'eu-west-1' })
    await refused('k1', { code: 'region_limit', params: { workers: 1, count: 3, limit: 3 } }, { count: 3 })
    expect((await buy('k1')).status).toBe(201)
    await refused('k2', { code: 'region_limit', params: { limit: 3 } }, { template_name: 'small', count: 1 })
    await fleet.act(mine.id, 'terminate')
    await fleet.moveTo(mine.id, 'TERMINATED')
    expect((await buy('k2', { template_name: 'small', count: 1 })).status).toBe(201)
  })

  it('beyond the limit also for concurrent purchases', async () => {
    await set({ max_workers_per_region: 5 })
    const names = ['metal', 'small', 'a', 'b', 'c', 'd']
    for (const name of names.slice(2)) await fleet.send('POST', 'worker-templates', { json: { ...METAL, name } })
    const answers = await Promise.all(names.map(name => buy(name, { template_name: name })))
    expect(answers.filter(answer => answer.status === 201)).toHaveLength(2)
    expect(await workers()).toHaveLength(4)
  })

  it('beyond the limit with capacity that a crashed purchase still holds', async () => {
    await set({ max_workers_per_region: 3 })
    fleet.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', run: crash })
    await buy('k1')
    await refused(
      'k2',
      { code: 'region_limit', params: { region: 'us-east-1', workers: 2 } },
      { template_name: 'small' },
    )
    await fleet.clock.advance(601_000)
    expect((await buy('k2', { template_name: 'small' })).status).toBe(201)
  })

  it('while scale-up is disabled', async () => {
    await set({ scale_up_enabled: false })
    await refused('k1', { code: 'scale_up_disabled' })
  })

  it('while the fleet is on hold', async () => {
    await fleet.holdFleet()
    await refused('k1', { code: 'fleet_held' })
  })
})

describe('people', () => {
  it('may exceed the limits of automation', async () => {
    await set({ max_workers_per_region: 0, scale_up_enabled: false })
    expect((await fleet.create()).status).toBe('PENDING')
  })
})

describe('a request', () => {
  it.each<[object, number, string]>([
    [{ template_name: 'none' }, 422, 'template_not_found'],
    [{ aws_region: 'eu-north-1' }, 422, 'region_not_configured'],
    [{ count: 0 }, 400, 'validation_failed'],
    [{ count: 101 }, 400, 'validation_failed'],
  ])('with %j is refused', async (more, status, code) => {
    expect(await buy('k1', more)).toMatchObject({ status, json: { code } })
  })

  it('for a disabled template is refused', async () => {
    await fleet.send('POST', 'worker-templates/metal/disable')
    expect(await buy('k1')).toMatchObject({ status: 422, json: { code: 'template_disabled' } })
  })

  it('is accepted from the leader of the scheduler only', async () => {
    expect((await fleet.fenced('POST', 'workers/scale-up', { ...PURCHASE, key: 'k' })).status).toBe(403)
    const at = (epoch: number) =>
      fleet.fenced('POST', 'workers/scale-up', { ...PURCHASE, key: 'k' }, { by: 'resource-scheduler', epoch })
    expect((await at(2)).status).toBe(201)
    expect(await at(1)).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
  })
})
