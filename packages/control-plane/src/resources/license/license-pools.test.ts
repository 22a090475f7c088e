import { textReason } from '@lcm/domain/reason'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../../resources.ts'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let fleet: Fleet
beforeEach(async () => {
  fleet = aFleet()
  await fleet.send('POST', 'worker-templates', { json: { ...METAL, license_product: PRODUCT } })
})

const PRODUCT = 'CML_Enterprise'
const TOKEN = 'pool-token'
const POOL = `license-pools/${PRODUCT}`
const createPool = (seats: number, token = TOKEN) =>
  fleet.send('POST', 'license-pools', { json: { product: PRODUCT, seats, token } })
const pool = async () => (await fleet.send('GET', POOL)).json
const put = (json: object) => fleet.send('PUT', POOL, { json })
const secretsOf = async (id: string) => (await fleet.send('GET', `workers/${id}/secrets`, { as: 'controller' })).json
const report = async (id: string, changes: object) => fleet.report(id, (await fleet.get(id)).version, changes)
const seatOf = async (id: string) => (await fleet.get(id)).license.seat
const takers = async (): Promise<string[]> => (await pool()).taken.map((seat: { worker_id: string }) => seat.worker_id)
const REGISTERED = { license: { status: 'REGISTERED', pending_operation: null } }
const registered = async () => {
  const worker = await fleet.running()
  await report(worker.id, REGISTERED)
  return fleet.get(worker.id)
}
/** What a crash left is repaired within a minute. */
async function housekeeping() {
  const stop = fleet.run()
  await fleet.clock.advance(61_000)
  await stop()
}

describe('a license pool', () => {
  it('is created, listed, changed and deleted', async () => {
    const made = await createPool(2)
    expect(made).toMatchObject({
      status: 201,
      json: { product: PRODUCT, seats: 2, free: 2, leaked: 0, taken: [], waiting: [] },
    })
    expect((await fleet.send('GET', 'license-pools')).json.items).toEqual([made.json])
    expect(await put({ seats: 3 })).toMatchObject({ status: 200, json: { seats: 3, free: 3, version: 2 } })
    expect(await fleet.send('DELETE', POOL)).toMatchObject({ status: 204 })
    expect(await fleet.send('GET', POOL)).toMatchObject({ status: 404 })
  })

  it('never shows its token, and forgets it when it is deleted', async () => {
    const { json } = await createPool(2)
    expect(JSON.stringify([json, await pool()])).not.toContain(TOKEN)
    const stored = () => fleet.store.collection(RESOURCES.secrets).list({ limit: 100 })
    expect(await stored()).toHaveLength(1)
    expect(JSON.stringify(await stored())).not.toContain(TOKEN)
    await put({ seats: 2, token: 'another' })
    expect(await stored()).toHaveLength(1)
    await fleet.send('DELETE', POOL)
    expect(await stored()).toEqual([])
  })

  it('exists once per product', async () => {
    await createPool(1)
    expect(await createPool(1)).toMatchObject({ status: 409, json: { code: 'already_exists' } })
  })

  it('is created once by a repeated request', async () => {
    const json = { product: PRODUCT, seats: 1, token: TOKEN }
    const headers = { 'idempotency-key': 'once' }
    const [first, again] = [
      await fleet.send('POST', 'license-pools', { json, headers }),
      await fleet.send('POST', 'license-pools', { json, headers }),
    ]
    expect([again.status, again.json.id]).toEqual([201, first.json.id])
  })

  it('has no fewer seats than are in use, and stays while one is', async () => {
    await createPool(2)
    await fleet.create()
    await fleet.create()
    expect(await put({ seats: 1 })).toMatchObject({ status: 409, json: { code: 'license_pool_in_use' } })
    expect(await fleet.send('DELETE', POOL)).toMatchObject({ status: 409, json: { code: 'license_pool_in_use' } })
    expect((await pool()).seats).toBe(2)
  })

  it('is not changed with a stale version', async () => {
    await createPool(2)
    const headers = { 'if-match': '"7"' }
    expect(await fleet.send('PUT', POOL, { json: { seats: 9 }, headers })).toMatchObject({ status: 412 })
    expect(await fleet.send('DELETE', POOL, { headers })).toMatchObject({ status: 412 })
  })

  it('that is deleted leaves no worker waiting', async () => {
    await createPool(1)
    const { id } = await fleet.create()
    const waiting = await fleet.create()
    expect(waiting.health.status).toBe('DEGRADED')
    await fleet.act(waiting.id, 'stop')
    await fleet.act(id, 'terminate')
    await fleet.act(waiting.id, 'start')
    await fleet.act(waiting.id, 'stop')
    await report(id, { status: 'TERMINATED' })
    expect(await fleet.send('DELETE', POOL)).toMatchObject({ status: 204 })
    expect((await fleet.get(waiting.id)).conditions).toEqual([])
  })
})

describe('a worker whose template names the product', () => {
  it('takes a seat when it is created, before CML registers', async () => {
    await createPool(2)
    const worker = await fleet.create({ name: 'one' })
    expect(worker.license).toMatchObject({ seat: 'held', pending_operation: 'register', product: PRODUCT })
    expect(await pool()).toMatchObject({
      free: 1,
      taken: [{ worker_id: worker.id, worker_name: 'one', leak_id: null }],
    })
  })

  it('gets the token of the pool, for its controller alone', async () => {
    await createPool(1)
    const { id } = await fleet.running()
    expect((await secretsOf(id)).license_token).toBe(TOKEN)
    const lablet = { headers: { authorization: 'Bearer lablet-controller' } }
    expect((await fleet.send('GET', `workers/${id}/secrets`, lablet)).json.license_token).toBeNull()
  })

  it('says why it has no license when no seat is free, and gets one that is added', async () => {
    await createPool(1)
    await fleet.create()
    const waiting = await fleet.create()
    expect(waiting.license).toMatchObject({ seat: 'wanted', pending_operation: null })
    expect(waiting.health).toMatchObject({
      status: 'DEGRADED',
      reason: { code: 'no_license_seat', params: { seats: 1 } },
    })
    expect((await pool()).waiting).toEqual([{ worker_id: waiting.id, worker_name: waiting.name }])
    expect((await secretsOf(waiting.id)).license_token).toBeNull()
    await put({ seats: 2 })
    expect(await fleet.get(waiting.id)).toMatchObject({
      license: { seat: 'held' },
      conditions: [],
      health: { status: 'OK' },
    })
  })

  it('gets one of a pool that is created later', async () => {
    const { id, license } = await fleet.create()
    expect(license).toMatchObject({ seat: 'wanted', pending_operation: null })
    await createPool(1)
    expect(await seatOf(id)).toBe('held')
  })

  it('needs none with a license of its own', async () => {
    await createPool(1)
    const own = await fleet.create({ license: { product: PRODUCT, token: 'own' } })
    expect(own.license).toMatchObject({ seat: 'none', pending_operation: 'register' })
    expect((await pool()).free).toBe(1)
    expect((await secretsOf(own.id)).license_token).toBe('own')
  })

  it('keeps its seat while it is stopped', async () => {
    await createPool(1)
    const { id } = await registered()
    await fleet.act(id, 'stop')
    await fleet.moveTo(id, 'STOPPING', 'STOPPED')
    expect([await seatOf(id), await takers()]).toEqual(['held', [id]])
  })

  it('returns its seat at a stop that returned its license, and takes one at the next start', async () => {
    await createPool(1)
    const { id } = await registered()
    await fleet.act(id, 'stop')
    await fleet.moveTo(id, 'STOPPING')
    await report(id, { license: { status: 'UNREGISTERED', pending_operation: 'register', unsettled: null } })
    expect((await fleet.get(id)).license).toMatchObject({ seat: 'wanted', pending_operation: null })
    expect(await takers()).toEqual([])
    await fleet.moveTo(id, 'STOPPED')
    await fleet.act(id, 'start')
    expect((await fleet.get(id)).license).toMatchObject({ seat: 'held', pending_operation: 'register' })
  })

  it('is asked to return its seat on the way to a stop when another waits', async () => {
    await createPool(1)
    const { id } = await registered()
    const waiting = await fleet.create()
    await fleet.act(id, 'stop')
    expect(await seatOf(id)).toBe('recalled')
    await fleet.moveTo(id, 'STOPPING')
    await report(id, { license: { status: 'UNREGISTERED', unsettled: null } })
    expect([await seatOf(id), await seatOf(waiting.id), await takers()]).toEqual(['wanted', 'held', [waiting.id]])
  })

  it('frees its seat when it is terminated', async () => {
    await createPool(1)
    const { id } = await registered()
    await fleet.act(id, 'terminate')
    await fleet.moveTo(id, 'TERMINATING')
    expect(await takers()).toEqual([id])
    await report(id, { license: { status: 'UNREGISTERED', unsettled: null } })
    expect([await seatOf(id), await takers()]).toEqual(['none', []])
  })

  it('whose license leaked occupies its seat until the leak is resolved', async () => {
    await createPool(1)
    const { id } = await registered()
    const leak = { worker_id: id, udi: null, hostname: null, product: PRODUCT, reason: textReason('gone') }
    const { json } = await fleet.fenced('POST', 'license-leaks', leak)
    await report(id, { license: { status: 'UNREGISTERED', unsettled: null } })
    await report(id, { status: 'TERMINATED' })
    expect(await pool()).toMatchObject({ free: 0, leaked: 1, taken: [{ worker_id: id, leak_id: json.id }] })
    const waiting = await fleet.create()
    expect(waiting.health.reason.params).toMatchObject({ leaked: 1 })
    await fleet.send('POST', `license-leaks/${json.id}/resolve`, { json: {} })
    expect([await seatOf(waiting.id), await takers()]).toEqual(['held', [waiting.id]])
  })

  it('registers again when its pool gets another token', async () => {
    await createPool(1)
    const { id } = await fleet.running()
    await report(id, { license: { status: 'FAILED', pending_operation: null, last_error: 'bad token' } })
    await put({ seats: 1 })
    expect((await fleet.get(id)).license.pending_operation).toBeNull()
    await put({ seats: 1, token: 'another' })
    expect((await fleet.get(id)).license).toMatchObject({ seat: 'held', pending_operation: 'register' })
    expect((await secretsOf(id)).license_token).toBe('another')
  })
})

describe('a person', () => {
  const register = (id: string, json: object = { product: PRODUCT }) =>
    fleet.send('PUT', `workers/${id}/license`, { json })

  it('gives a worker a seat by registering it without a token', async () => {
    const plain = await fleet.running({ license: { product: PRODUCT, token: 'own' } })
    await report(plain.id, { license: { status: 'FAILED', pending_operation: null } })
    expect(await register(plain.id)).toMatchObject({ status: 409, json: { code: 'license_pool_missing' } })
    await createPool(1)
    expect(await register(plain.id)).toMatchObject({
      status: 202,
      json: { license: { seat: 'held', pending_operation: 'register' } },
    })
    expect((await secretsOf(plain.id)).license_token).toBe(TOKEN)
  })

  it('cannot take a seat of another product while the worker holds one', async () => {
    await createPool(1)
    const { id } = await registered()
    await fleet.send('POST', 'license-pools', { json: { product: 'CML_Personal', seats: 1, token: TOKEN } })
    expect(await register(id, { product: 'CML_Personal' })).toMatchObject({
      status: 409,
      json: { code: 'illegal_transition' },
    })
    expect(await register(id)).toMatchObject({ status: 202, json: { license: { pending_operation: null } } })
  })

  it('who deregisters a worker frees its seat for good', async () => {
    await createPool(1)
    const { id } = await registered()
    await fleet.send('DELETE', `workers/${id}/license`)
    expect([await seatOf(id), await takers()]).toEqual(['leaving', [id]])
    await report(id, { license: { status: 'UNREGISTERED', pending_operation: null } })
    await housekeeping()
    expect([await seatOf(id), await takers()]).toEqual(['none', []])
  })

  it('who gives a worker a license of its own frees its seat once the old one is returned', async () => {
    await createPool(1)
    const { id } = await registered()
    await register(id, { product: PRODUCT, token: 'own' })
    expect(await seatOf(id)).toBe('leaving')
    expect((await secretsOf(id)).license_token).toBe('own')
    await report(id, { license: { status: 'UNREGISTERED', unsettled: null } })
    expect([await seatOf(id), await takers()]).toEqual(['none', []])
  })
})

describe('a purchase', () => {
  const buy = (key: string, count = 1) => {
    const purchase = { template_name: 'metal', aws_region: 'us-east-1', count, session_ids: ['ls-1'], key }
    return fleet.fenced('POST', 'workers/scale-up', purchase, { by: 'resource-scheduler' })
  }

  it('takes a seat for every worker', async () => {
    await createPool(2)
    const { json } = await buy('k1', 2)
    expect(json.workers.map((worker: { license: { seat: string } }) => worker.license.seat)).toEqual(['held', 'held'])
    expect((await pool()).free).toBe(0)
  })

  it('is refused when fewer seats are free than it needs', async () => {
    await createPool(1)
    const refused = { status: 409, json: { code: 'scale_up_rejected', reason: { code: 'no_license_seat' } } }
    expect(await buy('k1', 2)).toMatchObject(refused)
    expect(await pool()).toMatchObject({ free: 1, taken: [] })
  })

  it('that crashed after it had reserved its seats frees them', async () => {
    await createPool(1)
    fleet.store.interrupt({ kind: 'fleet_scaling', write: 'replace', when: 'before', run: crash })
    expect((await buy('k1')).status).toBe(503)
    expect((await pool()).free).toBe(0)
    await fleet.clock.advance(10 * 60_000)
    await housekeeping()
    expect((await pool()).free).toBe(1)
  })

  it('that crashed between its workers has their seats when it is repeated', async () => {
    await createPool(2)
    fleet.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', skip: 1, run: crash })
    expect((await buy('k1', 2)).status).toBe(503)
    const { json } = await buy('k1', 2)
    expect((await takers()).sort()).toEqual(json.workers.map((worker: { id: string }) => worker.id).sort())
  })
})

describe('one seat for many workers', () => {
  const holders = async () => {
    const { items } = (await fleet.send('GET', 'workers?include_terminated=true')).json
    const holding = items.filter(({ license }: { license: { seat: string } }) =>
      ['held', 'recalled', 'leaving'].includes(license.seat),
    )
    return holding.map(({ id }: { id: string }) => id)
  }

  it('is taken by one of them, however many are created at once', async () => {
    await createPool(3)
    await Promise.all(Array.from({ length: 12 }, () => fleet.create()))
    const held = await holders()
    expect(held).toHaveLength(3)
    expect((await takers()).sort()).toEqual([...held].sort())
  })

  it.each([
    ['license_pool', 'before', 0],
    ['license_pool', 'after', 0],
    ['worker', 'before', 0],
    ['worker', 'after', 0],
    ['worker', 'after', 1],
  ] as const)('is held by one after a crash at a write of a %s, %s it, skipping %i', async (kind, when, skip) => {
    const [first, second] = [await fleet.create(), await fleet.create()]
    fleet.store.interrupt({ kind, write: 'replace', when, skip, run: crash })
    await createPool(1)
    await housekeeping()
    expect(await holders()).toEqual([first.id])
    expect(await takers()).toEqual([first.id])
    await fleet.act(first.id, 'terminate')
    fleet.store.interrupt({ kind, write: 'replace', when, skip, run: crash })
    await report(first.id, { status: 'TERMINATED' })
    if ((await fleet.get(first.id)).status !== 'TERMINATED') await report(first.id, { status: 'TERMINATED' })
    await housekeeping()
    expect(await holders()).toEqual([second.id])
    expect(await takers()).toEqual([second.id])
  })

  it('is not confirmed for a worker that changed since', async () => {
    const { id } = await fleet.create()
    fleet.store.interrupt({ kind: 'license_pool', write: 'replace', when: 'after', run: () => fleet.act(id, 'stop') })
    await createPool(1)
    expect(await seatOf(id)).toBe('wanted')
    const other = await fleet.create()
    expect([await seatOf(other.id), await takers()]).toEqual(['held', [other.id]])
  })

  it.each(['license_pool', 'worker'])('is given once by two replicas, at a write of a %s', async kind => {
    const { id } = await fleet.create()
    const replica = aFleet({ store: fleet.store })
    const create = () => replica.create({ name: 'second' })
    fleet.store.interrupt({ kind, write: 'replace', when: 'before', run: create })
    await createPool(1)
    const held = await holders()
    expect(held).toHaveLength(1)
    expect(await takers()).toEqual(held)
    expect([held[0] === id, await seatOf(id)]).toEqual([true, 'held'])
  })
})
