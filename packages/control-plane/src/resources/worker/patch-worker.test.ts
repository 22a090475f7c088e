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

describe('refresh', () => {
  it('requests an observation, at most every ten seconds', async () => {
    const { id } = await fleet.running()
    const first = (await fleet.act(id, 'refresh')).json
    expect(first.refresh_requested_at).toBe(first.updated_at)
    await fleet.clock.advance(9_000)
    expect((await fleet.act(id, 'refresh')).json.version).toBe(first.version)
    await fleet.clock.advance(1_000)
    expect((await fleet.act(id, 'refresh')).json.version).toBe(first.version + 1)
  })

  it('requests it also after the controller has cleared the request', async () => {
    const { id } = await fleet.running()
    const { version } = (await fleet.act(id, 'refresh')).json
    await fleet.report(id, version, { refresh_requested_at: null })
    await fleet.clock.advance(5_000)
    expect((await fleet.act(id, 'refresh')).json).toMatchObject({ version: version + 1, refresh_requested_at: null })
    await fleet.clock.advance(5_000)
    expect((await fleet.act(id, 'refresh')).json.refresh_requested_at).not.toBeNull()
  })

  it('keeps the desired status', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'stop')
    expect((await fleet.act(id, 'refresh')).json.desired_status).toBe('STOPPED')
  })
})

describe('retry', () => {
  it('moves back to PENDING when nothing was launched', async () => {
    const { id } = await fleet.create()
    await fleet.moveTo(id, 'FAILED')
    const { status, json } = await fleet.act(id, 'retry', { reason: 'quota was raised' })
    expect(status).toBe(202)
    expect(json).toMatchObject({ status: 'PENDING', desired_status: 'RUNNING', desired_by: 'admin' })
    expect(json.state_history.at(-1)).toMatchObject({
      from: 'FAILED',
      because: { code: 'retry_requested_by', params: { by: 'admin' } },
    })
  })

  it('starts the machine when there is one', async () => {
    const { id } = await fleet.running()
    await fleet.moveTo(id, 'FAILED')
    expect((await fleet.act(id, 'retry')).json).toMatchObject({ status: 'STARTING', service_status: 'UNAVAILABLE' })
  })

  it('sets the desired status RUNNING, with its actor', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'stop', { reason: 'broken' })
    await fleet.moveTo(id, 'FAILED')
    const retried = await fleet.send('POST', `workers/${id}/retry`, { as: 'operator', json: { reason: 'fixed' } })
    expect(retried.json).toMatchObject({
      desired_status: 'RUNNING',
      desired_by: 'operator',
      desired_reason: 'fixed',
      pause: { counts: { manual: 1, resumed: 1 } },
    })
    const [entry] = await fleet.journal('audit', `worker:${id}`)
    expect(entry?.body).toMatchObject({
      action: 'retry',
      before: { desired_status: 'STOPPED' },
      after: { desired_status: 'RUNNING' },
    })
  })

  it.each(['PENDING', 'PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED'] as const)(
    'is refused when it is %s',
    async status => {
      const path = ['PENDING', 'PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED'] as const
      const { id } = await fleet.create()
      await fleet.moveTo(id, ...path.slice(1, path.indexOf(status) + 1))
      expect(await fleet.act(id, 'retry')).toMatchObject({ status: 409, json: { code: 'worker_not_failed' } })
      expect((await fleet.get(id)).status).toBe(status)
    },
  )
})

describe('repin', () => {
  it('removes the pinned certificate once', async () => {
    const { id, version } = await fleet.running()
    await fleet.report(id, version, { cml: { certificate_sha256: 'abc', version: '2.8' } })
    const repinned = await fleet.act(id, 'repin')
    expect(repinned).toMatchObject({ status: 202, json: { version: version + 2 } })
    expect(repinned.json.cml).toMatchObject({ certificate_sha256: null, version: '2.8' })
    expect((await fleet.act(id, 'repin')).json.version).toBe(version + 2)
    const [entry] = await fleet.journal('audit', `worker:${id}`)
    expect(entry?.body).toMatchObject({
      action: 'repin',
      before: { certificate_sha256: 'abc' },
      after: { certificate_sha256: null },
    })
  })
})
