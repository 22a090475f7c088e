import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../../resources.ts'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const create = (more: object = {}) => fleet.send('POST', 'worker-templates', { json: { ...METAL, ...more } })
const { name: _, ...METAL_BODY } = METAL
const put = (json: object, headers: Record<string, string> = {}) =>
  fleet.send('PUT', 'worker-templates/metal', { json: { ...METAL_BODY, ...json }, headers })
const get = async (name = 'metal') => (await fleet.send('GET', `worker-templates/${name}`)).json
const userData = async () =>
  (await fleet.send('GET', 'worker-templates/metal/user-data', { as: 'controller' })).json.user_data
const secrets = () => fleet.store.collection(RESOURCES.secrets).list({ limit: 10 })
const audit = async () =>
  (await fleet.journal('audit')).filter(({ subject }) => subject.startsWith('template:')).map(({ body }) => body)

describe('a template', () => {
  it('is created with its defaults', async () => {
    const { status, headers, json } = await create()
    expect(status).toBe(201)
    expect(headers).toMatchObject({ location: '/api/v1/worker-templates/metal', etag: '"1"' })
    expect(json).toMatchObject({
      ...METAL,
      description: '',
      root_volume_gb: 64,
      volume_encrypted: true,
      drain_timeout_seconds: 14_400,
      replace_lost: false,
      has_user_data: false,
      seeded_from_sha256: null,
      enabled: true,
    })
    expect(await get()).toEqual(json)
  })

  it('has a unique name', async () => {
    await create()
    expect(await create({ cost_per_hour_usd: 9 })).toMatchObject({ status: 409, json: { code: 'already_exists' } })
    expect((await get()).cost_per_hour_usd).toBe(4)
    expect((await fleet.send('GET', 'worker-templates')).json.items).toHaveLength(1)
  })

  it('is replaced as a whole, except name and user data', async () => {
    const made = (await create({ description: 'old', root_volume_gb: 100, user_data: 'secret' })).json
    const { status, json } = await put({ cost_per_hour_usd: 5 })
    expect(status).toBe(200)
    expect(json).toEqual({
      ...made,
      description: '',
      root_volume_gb: 64,
      cost_per_hour_usd: 5,
      version: 2,
      updated_at: json.updated_at,
    })
    expect((await put({ cost_per_hour_usd: 5 })).json.version).toBe(2)
    expect((await put({ name: 'other' })).status).toBe(400)
    expect(await userData()).toBe('secret')
  })

  it('does not change existing workers', async () => {
    const worker = await fleet.create()
    await put({ cost_per_hour_usd: 9, capacity: { ...METAL.capacity, cpu_cores: 1 } })
    expect(await fleet.get(worker.id)).toEqual(worker)
  })

  it('is enabled and disabled, and repeating it changes nothing', async () => {
    await create()
    for (const [verb, enabled, version] of [
      ['disable', false, 2],
      ['disable', false, 2],
      ['enable', true, 3],
      ['enable', true, 3],
    ]) {
      const answer = await fleet.send('POST', `worker-templates/metal/${verb}`)
      expect(answer).toMatchObject({ status: 202, json: { enabled, version } })
    }
  })

  it('is removed when no worker uses it', async () => {
    const { id } = await fleet.create({ name: 'mine' })
    const refused = await fleet.send('DELETE', 'worker-templates/metal')
    expect(refused).toMatchObject({ status: 409, json: { code: 'template_in_use' } })
    expect(refused.json.detail).toBe('1 worker was made from metal: mine')
    await fleet.act(id, 'terminate')
    await fleet.moveTo(id, 'TERMINATED')
    expect((await fleet.send('DELETE', 'worker-templates/metal')).status).toBe(204)
    expect(await fleet.send('GET', 'worker-templates/metal')).toMatchObject({ status: 404 })
    expect((await create()).status).toBe(201)
  })

  it('honors If-Match in every change', async () => {
    await create({ user_data: 'one' })
    const headers = { 'if-match': '"7"' }
    expect((await put({ user_data: 'two' }, headers)).status).toBe(412)
    for (const verb of ['enable', 'disable'])
      expect((await fleet.send('POST', `worker-templates/metal/${verb}`, { headers })).status).toBe(412)
    expect((await fleet.send('DELETE', 'worker-templates/metal', { headers })).status).toBe(412)
    expect(await get()).toMatchObject({ version: 1, enabled: true })
    expect(await userData()).toBe('one')
  })

  it('returns 404 when it does not exist', async () => {
    expect((await put({})).status).toBe(404)
    for (const verb of ['enable', 'disable'])
      expect((await fleet.send('POST', `worker-templates/metal/${verb}`)).status).toBe(404)
    expect((await fleet.send('DELETE', 'worker-templates/metal')).status).toBe(404)
  })

  it.each<[object]>([
    [{ name: 'With Spaces' }],
    [{ instance_types: [] }],
    [{ ami_owner: '' }],
    [{ capacity: { ...METAL.capacity, cpu_cores: 0 } }],
    [{ cost_per_hour_usd: -1 }],
    [{ drain_timeout_seconds: 59 }],
    [{ user_data: 'x'.repeat(16_385) }],
    [{ has_user_data: true }],
    [{ seeded_from_sha256: 'x' }],
  ])('is refused with %j', async more => {
    expect(await create(more)).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
  })
})

describe('user data', () => {
  it('is sealed, and readable by the worker-controller only', async () => {
    const { json } = await create({ user_data: '#!/bin/sh\necho hello' })
    expect(json).toMatchObject({ has_user_data: true })
    expect(json).not.toHaveProperty('user_data')
    expect(await userData()).toBe('#!/bin/sh\necho hello')
    expect(JSON.stringify(await secrets())).not.toContain('hello')
    for (const service of ['resource-scheduler', 'lablet-controller'] as const) {
      const headers = fleet.asService(service)
      expect((await fleet.send('GET', 'worker-templates/metal/user-data', { headers })).status).toBe(403)
    }
    for (const as of ['admin', 'operator', 'author', 'user'] as const)
      expect((await fleet.send('GET', 'worker-templates/metal/user-data', { as })).status).toBe(403)
  })

  it('keeps the previous one for repeated launches, and no older one', async () => {
    await create({ user_data: 'one' })
    const refOf = async () => (await fleet.send('GET', 'worker-templates/metal')).json.secret_refs.user_data
    const read = (ref: string) => fleet.send('GET', `worker-templates/metal/user-data?ref=${ref}`, { as: 'controller' })
    const one = await refOf()
    await put({ user_data: 'two' })
    expect((await read(one)).json.user_data).toBe('one')
    expect((await read(await refOf())).json.user_data).toBe('two')
    await put({ user_data: 'three' })
    expect((await read(one)).status).toBe(404)
  })

  it('is replaced, kept and removed', async () => {
    await create({ user_data: 'one' })
    expect((await put({ user_data: 'two' })).json).toMatchObject({ has_user_data: true, version: 2 })
    expect(await userData()).toBe('two')
    expect((await put({})).json.version).toBe(2)
    expect((await put({ user_data: 'two' })).json.version).toBe(2)
    expect((await put({ user_data: null })).json).toMatchObject({ has_user_data: false, version: 3 })
    expect(await userData()).toBeNull()
    expect(await secrets()).toEqual([])
  })

  it('survives a concurrent removal of the previous one', async () => {
    await create({ user_data: 'one' })
    const [without, withTwo] = await Promise.all([put({ user_data: null }), put({ user_data: 'two' })])
    expect([without.status, withTwo.status]).toEqual([200, 200])
    expect((await get()).has_user_data).toBe(true)
    expect(await userData()).toBe('two')
  })

  it('creates a version and an audit entry that does not show it', async () => {
    await create({ user_data: 'one' })
    await put({ user_data: 'two' })
    const [entry] = await audit()
    const reason = 'with other user data'
    expect(entry).toEqual(expect.objectContaining({ action: 'put', before: {}, after: {}, reason }))
  })

  it('is removed with its template, and is not stored when a template is refused', async () => {
    await create({ user_data: 'one' })
    expect((await create({ user_data: 'two' })).status).toBe(409)
    expect(await secrets()).toHaveLength(1)
    expect(await userData()).toBe('one')
    await fleet.send('DELETE', 'worker-templates/metal')
    expect(await secrets()).toEqual([])
  })

  it('stays when a template is changed while it is to be removed', async () => {
    await create({ user_data: 'one' })
    const disable = () => fleet.send('POST', 'worker-templates/metal/disable')
    fleet.store.interrupt({ kind: 'template', write: 'remove', when: 'before', run: disable })
    expect(await fleet.send('DELETE', 'worker-templates/metal')).toMatchObject({ status: 412 })
    expect(await userData()).toBe('one')
  })
})

describe('seeding', () => {
  const spec = (more: object = {}) => WorkerTemplateSpec.parse({ ...METAL, ...more })

  it('creates missing templates, as the seeding actor', async () => {
    await fleet.seed([spec(), spec({ name: 'small' })])
    const { items } = (await fleet.send('GET', 'worker-templates')).json
    expect(items.map((each: { name: string }) => each.name).sort()).toEqual(['metal', 'small'])
    expect(await get()).toMatchObject({
      ...METAL,
      version: 1,
      seeded_from_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(await audit()).toMatchObject([
      { actor: { name: 'seeding' } },
      { actor: { name: 'seeding' }, action: 'create' },
    ])
  })

  it('changes nothing with the same file, also after a person changed a template', async () => {
    await fleet.seed([spec()])
    await fleet.seed([spec()])
    expect((await get()).version).toBe(1)
    await put({ cost_per_hour_usd: 7 })
    await fleet.send('POST', 'worker-templates/metal/disable')
    await fleet.seed([spec()])
    expect(await get()).toMatchObject({ version: 3, cost_per_hour_usd: 7, enabled: false })
  })

  it('overrides existing templates with a changed file', async () => {
    await fleet.seed([spec()])
    await put({ cost_per_hour_usd: 7, user_data: 'mine' })
    await fleet.seed([spec({ cost_per_hour_usd: 8, description: 'new' })])
    expect(await get()).toMatchObject({ version: 3, cost_per_hour_usd: 8, description: 'new', has_user_data: true })
    expect(await userData()).toBe('mine')
    const [entry] = await audit()
    expect(entry).toMatchObject({ before: { cost_per_hour_usd: 7 }, after: { cost_per_hour_usd: 8 } })
    await fleet.seed([spec({ cost_per_hour_usd: 8, description: 'new' })])
    expect((await get()).version).toBe(3)
  })

  it('takes over a template that a person created with the same name', async () => {
    await create({ cost_per_hour_usd: 1 })
    await fleet.seed([spec()])
    expect(await get()).toMatchObject({ version: 2, cost_per_hour_usd: 4 })
  })
})
