import { textReason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

const DAY_MS = 86_400_000
let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const cleanUp = (json: object = {}) => fleet.fenced('POST', 'workers/cleanup', json, { by: 'resource-scheduler' })

async function terminated(name: string) {
  const { id } = await fleet.create({ name })
  await fleet.act(id, 'terminate')
  return (await fleet.moveTo(id, 'TERMINATED')).id
}
const ids = async () =>
  (await fleet.send('GET', 'workers?include_terminated=true')).json.items.map((worker: { id: string }) => worker.id)

describe('cleaning up', () => {
  it('removes workers that were terminated before the retention, and no others', async () => {
    const old = await terminated('old')
    const alive = (await fleet.create({ name: 'alive' })).id
    await fleet.clock.advance(20 * DAY_MS)
    const young = await terminated('young')
    await fleet.clock.advance(10 * DAY_MS)
    expect((await cleanUp()).json).toEqual({ removed: [old], dry_run: false })
    expect(await ids()).toEqual([alive, young])
    expect((await cleanUp()).json.removed).toEqual([])
    const [entry] = await fleet.journal('audit', `worker:${old}`)
    expect(entry?.body).toMatchObject({ action: 'delete', actor: { name: 'resource-scheduler' } })
  })

  it('lists in a dry run the workers to remove, and removes none', async () => {
    const old = await terminated('old')
    await fleet.clock.advance(31 * DAY_MS)
    expect((await cleanUp({ dry_run: true })).json).toEqual({ removed: [old], dry_run: true })
    expect(await ids()).toEqual([old])
  })

  it('uses the retention of the request or the settings', async () => {
    const old = await terminated('old')
    await fleet.clock.advance(2 * DAY_MS)
    expect((await cleanUp({ retention_days: 3 })).json.removed).toEqual([])
    await fleet.send('PATCH', 'settings', { json: { terminated_retention_days: 3 } })
    expect((await cleanUp()).json.removed).toEqual([])
    await fleet.send('PATCH', 'settings', { json: { terminated_retention_days: 1 } })
    expect((await cleanUp()).json.removed).toEqual([old])
  })

  it('deletes the samples and secrets of removed workers', async () => {
    const { id } = await fleet.running()
    const json = { collected_at: '2026-01-01T00:00:00.000Z', cpu_utilization: 5 }
    await fleet.send('POST', `workers/${id}/metrics`, { as: 'controller', json })
    await fleet.act(id, 'terminate')
    await fleet.moveTo(id, 'TERMINATING', 'TERMINATED')
    await fleet.clock.advance(31 * DAY_MS)
    await cleanUp()
    expect(await fleet.store.series.range({ series: `worker:${id}`, limit: 10 })).toEqual([])
  })

  it('is accepted from the leader of the scheduler only', async () => {
    expect((await fleet.fenced('POST', 'workers/cleanup', {})).status).toBe(403)
    expect(await fleet.send('POST', 'workers/cleanup', { json: {} })).toMatchObject({ status: 403 })
    const headers = fleet.asService('resource-scheduler')
    expect(await fleet.send('POST', 'workers/cleanup', { headers, json: {} })).toMatchObject({ status: 428 })
  })
})

describe('a leaked license', () => {
  const reason = textReason('no answer for two hours')
  const LEAK = { udi: 'udi-1', hostname: 'cml-1', product: 'CML_Enterprise', reason }
  const report = (worker_id: string) => fleet.fenced('POST', 'license-leaks', { ...LEAK, worker_id })
  const leaks = async () => (await fleet.send('GET', 'license-leaks', { as: 'operator' })).json.items

  it('is recorded once for each worker, with its name', async () => {
    const { id } = await fleet.running({ name: 'lost' })
    const first = await report(id)
    expect(first).toMatchObject({ status: 201, json: { ...LEAK, worker_id: id, worker_name: 'lost', version: 1 } })
    expect(await report(id)).toMatchObject({ status: 200, json: { id: first.json.id } })
    expect(await leaks()).toEqual([first.json])
    expect((await report('w-unknown')).json.worker_name).toBe('w-unknown')
  })

  it('stays until a person resolves it', async () => {
    const { id } = await fleet.running()
    const leak = (await report(id)).json
    const resolve = () => fleet.send('POST', `license-leaks/${leak.id}/resolve`, { json: { reason: 'phoned' } })
    const resolved = await resolve()
    expect(resolved).toMatchObject({ status: 202, json: { version: 2, resolved_by: 'admin' } })
    expect(resolved.json.resolved_at).toBe(resolved.json.updated_at)
    expect((await resolve()).json).toEqual(resolved.json)
    expect(await leaks()).toEqual([resolved.json])
    expect(await fleet.send('POST', 'license-leaks/ll-none/resolve', { json: {} })).toMatchObject({ status: 404 })
  })

  it('outlives the record of its worker', async () => {
    const { id } = await fleet.running()
    const leak = (await report(id)).json
    await fleet.act(id, 'terminate')
    await fleet.moveTo(id, 'TERMINATING', 'TERMINATED')
    await fleet.clock.advance(31 * DAY_MS)
    expect((await cleanUp()).json.removed).toEqual([id])
    expect(await leaks()).toEqual([leak])
  })
})
