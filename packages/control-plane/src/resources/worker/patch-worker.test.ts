import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const patch = (id: string, json: object, headers: Record<string, string> = {}) =>
  fleet.send('PATCH', `workers/${id}`, { json, headers })

describe('patching', () => {
  it.each<[string, object]>([
    ['the name', { name: 'other' }],
    ['tags', { tags: { team: 'b' } }],
    ['labels', { labels: { environment: 'prod' } }],
    ['protection', { protected: true }],
    ['the cordon', { cordoned: true }],
    ['idle detection', { idle_detection_enabled: false }],
  ])('changes %s and nothing else', async (_, body) => {
    const worker = await fleet.create({ tags: { team: 'a' }, labels: { environment: 'test' } })
    const { status, json } = await patch(worker.id, body)
    expect(status).toBe(200)
    expect(json).toEqual({ ...worker, ...body, version: 2, updated_at: json.updated_at })
    expect((await patch(worker.id, body)).json.version).toBe(2)
  })

  it('changes the product of the license and nothing else of it', async () => {
    const worker = await fleet.create()
    const { json } = await patch(worker.id, { license: { product: 'CML_Enterprise' } })
    expect(json.license).toEqual({ ...worker.license, product: 'CML_Enterprise' })
    expect((await patch(worker.id, { license: { product: null } })).json.license.product).toBeNull()
  })

  it('writes neither document nor audit when nothing changes', async () => {
    const { id, name } = await fleet.create()
    expect((await patch(id, {})).json.version).toBe(1)
    expect((await patch(id, { name, protected: false })).json.version).toBe(1)
    expect(await fleet.journal('audit', `worker:${id}`)).toHaveLength(1)
  })

  it.each<[object]>([
    [{ tags: { 'lcm:worker_id': 'x' } }],
    [{ tags: { 'aws:x': 'x' } }],
    [{ status: 'RUNNING' }],
    [{ desired_status: 'STOPPED' }],
    [{ name: '' }],
    [{ name: null }],
    [{ labels: { '=': 'x' } }],
    [{ labels: { '': 'x' } }],
    [{ labels: { a: 'x'.repeat(129) } }],
    [{ labels: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`l${n}`, ''])) }],
    [{ license: { status: 'REGISTERED' } }],
  ])('refuses %j', async body => {
    const { id } = await fleet.create()
    expect(await patch(id, body)).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
    expect((await fleet.get(id)).version).toBe(1)
  })

  it('honors If-Match', async () => {
    const { id } = await fleet.create()
    expect((await patch(id, { name: 'x' }, { 'if-match': '"2"' })).status).toBe(412)
    expect((await patch(id, { name: 'x' }, { 'if-match': '"1"' })).status).toBe(200)
  })
})

describe('labels', () => {
  it('can filter lists, also after a change', async () => {
    const [a, b] = [
      await fleet.create({ name: 'a', labels: { environment: 'prod', 'team/owner': 'x=y' } }),
      await fleet.create({ name: 'b', labels: { environment: 'test' } }),
    ]
    const names = async (label: string) => {
      const { json } = await fleet.send('GET', `workers?label=${encodeURIComponent(label)}`)
      return json.items.map((worker: { name: string }) => worker.name)
    }
    expect(await names('environment=prod')).toEqual(['a'])
    expect(await names('environment=test')).toEqual(['b'])
    expect(await names('team/owner=x=y')).toEqual(['a'])
    expect(await names('team/owner=')).toEqual([])
    await patch(a.id, { labels: { environment: 'test' } })
    await patch(b.id, { labels: {} })
    expect(await names('environment=test')).toEqual(['a'])
    expect(await names('environment=prod')).toEqual([])
    expect(await fleet.send('GET', 'workers?label=environment')).toMatchObject({ status: 400 })
  })
})
