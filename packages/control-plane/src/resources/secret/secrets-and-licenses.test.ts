import { UNSEEN_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../../resources.ts'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'
import { secretReads } from './secret-reads.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const PRODUCT = 'CML_Enterprise'
const register = (id: string, token: string, more: { headers?: Record<string, string>; product?: string } = {}) =>
  fleet.send('PUT', `workers/${id}/license`, {
    json: { product: more.product ?? PRODUCT, token },
    headers: more.headers ?? {},
  })
const secretsOf = async (id: string) => (await fleet.send('GET', `workers/${id}/secrets`, { as: 'controller' })).json
const tokenOf = async (id: string) => (await secretsOf(id)).license_token
const report = async (id: string, changes: object) => fleet.report(id, (await fleet.get(id)).version, changes)
const stored = () => fleet.store.collection(RESOURCES.secrets).list({ limit: 100 })

describe('registering a license', () => {
  it('records the operation and seals the token for controllers', async () => {
    const { id, version, license } = await fleet.running()
    const { status, json } = await register(id, 'token-1')
    expect(status).toBe(202)
    expect(json.version).toBe(version + 1)
    expect(json.license).toEqual({ ...license, product: PRODUCT, pending_operation: 'register' })
    expect(await tokenOf(id)).toBe('token-1')
    expect(JSON.stringify(await stored())).not.toContain('token-1')
  })

  it('shows the token to no person', async () => {
    const { id } = await fleet.running()
    await register(id, 'token-1')
    for (const as of ['admin', 'operator', 'author', 'user'] as const)
      expect(await fleet.send('GET', `workers/${id}/secrets`, { as })).toMatchObject({ status: 403 })
  })

  it('deletes the token after the operation, whatever its outcome', async () => {
    for (const status of ['REGISTERED', 'FAILED']) {
      const { id } = await fleet.running()
      await register(id, 'token-1')
      await report(id, { license: { status: 'REGISTERING', operation_started_at: '2026-01-01T00:00:00.000Z' } })
      expect(await tokenOf(id)).toBe('token-1')
      await report(id, { license: { status, pending_operation: null } })
      expect([await tokenOf(id), (await fleet.get(id)).license.status]).toEqual([null, status])
    }
    expect(await stored()).toEqual([])
  })

  it('keeps a new token while the previous one is being deleted', async () => {
    const { id } = await fleet.running()
    await register(id, 'token-1')
    let second: Promise<unknown> = Promise.resolve()
    const run = () => {
      second = register(id, 'token-2')
    }
    fleet.store.interrupt({ kind: 'worker', write: 'replace', when: 'after', run })
    await report(id, { license: { status: 'FAILED', pending_operation: null } })
    await second
    expect((await fleet.get(id)).license.pending_operation).toBe('register')
    expect(await tokenOf(id)).toBe('token-2')
  })

  it('does not restart when repeated, but does with another token or product', async () => {
    const { id } = await fleet.running()
    await register(id, 'token-1')
    const operation_started_at = '2026-01-01T00:00:00.000Z'
    await report(id, { license: { status: 'REGISTERING', operation_started_at } })
    const { version } = await fleet.get(id)
    const again = await register(id, 'token-1')
    expect([again.status, again.json.version, again.json.license.operation_started_at]).toEqual([
      202,
      version,
      operation_started_at,
    ])
    expect((await register(id, 'token-2')).json).toMatchObject({
      version: version + 1,
      license: { operation_started_at: null },
    })
    expect((await register(id, 'token-2', { product: 'CML_Personal' })).json.version).toBe(version + 2)
  })

  it('with a stale If-Match changes nothing, not even the token', async () => {
    const { id, version } = await fleet.running()
    await register(id, 'token-1')
    expect((await register(id, 'token-2', { headers: { 'if-match': `"${version}"` } })).status).toBe(412)
    expect(await tokenOf(id)).toBe('token-1')
  })

  it('is refused for a worker that is being terminated', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'terminate')
    expect(await register(id, 'token-1')).toMatchObject({ status: 409, json: { code: 'worker_terminating' } })
    expect(await tokenOf(id)).toBeNull()
    expect(await register('w-none', 'token-1')).toMatchObject({ status: 404 })
    expect(await stored()).toEqual([])
  })

  it('keeps the token of a registration that began while a report ended the previous one', async () => {
    const { id } = await fleet.running()
    await register(id, 'token-1')
    const end = () => report(id, { license: { status: 'FAILED', pending_operation: null } })
    fleet.store.interrupt({ kind: 'secret', write: 'insert', when: 'after', run: end })
    expect(await register(id, 'token-2')).toMatchObject({ status: 202 })
    expect((await fleet.get(id)).license.pending_operation).toBe('register')
    expect(await tokenOf(id)).toBe('token-2')
    expect(await stored()).toHaveLength(1)
  })

  it('keeps the token of the accepted request when two name the same version', async () => {
    const { id, version } = await fleet.running()
    const ask = (token: string) =>
      fleet.send('PUT', `workers/${id}/license`, {
        json: { product: PRODUCT, token },
        headers: { 'if-match': `"${version}"` },
      })
    const answers = await Promise.all([ask('token-a'), ask('token-b')])
    expect(answers.map(answer => answer.status).sort()).toEqual([202, 412])
    expect(await tokenOf(id)).toBe(answers[0]?.status === 202 ? 'token-a' : 'token-b')
    expect(await stored()).toHaveLength(1)
  })

  it('can be part of the creation', async () => {
    const created = await fleet.create({ license: { product: PRODUCT, token: 'token-1' } })
    expect(created.license).toMatchObject({ product: PRODUCT, pending_operation: 'register' })
    expect(await tokenOf(created.id)).toBe('token-1')
    const without = await fleet.create({ license: { product: PRODUCT } })
    expect(without.license).toMatchObject({ product: PRODUCT, pending_operation: null })
  })

  it.each([{ token: 'x' }, { product: '', token: 'x' }, { product: PRODUCT, token: '' }])('refuses %j', async json => {
    const { id } = await fleet.running()
    expect(await fleet.send('PUT', `workers/${id}/license`, { json })).toMatchObject({ status: 400 })
  })
})

describe('the license of a machine that LCM did not launch', () => {
  const found = async () => {
    const { id } = await fleet.running()
    await fleet.edit(id, () => ({ origin: 'DISCOVERY', launch: null, license: UNSEEN_LICENSE }))
    return id
  }

  it('refuses a token, and explains what to do instead', async () => {
    const id = await found()
    expect(await register(id, 'token-1')).toMatchObject({
      status: 409,
      json: { code: 'worker_not_trusted', detail: expect.stringContaining(`lcm approve worker ${id}`) },
    })
    expect([await stored(), (await fleet.get(id)).license]).toEqual([[], UNSEEN_LICENSE])
  })

  it('is deregistered only once the machine is approved', async () => {
    const id = await found()
    const giveBack = () => fleet.send('DELETE', `workers/${id}/license`)
    expect(await giveBack()).toMatchObject({
      status: 409,
      json: { code: 'worker_not_trusted', detail: expect.stringContaining(`lcm approve worker ${id}`) },
    })
    await fleet.act(id, 'approve')
    expect(await giveBack()).toMatchObject({ status: 202, json: { license: { pending_operation: 'deregister' } } })
  })

  it('can be requested before the machine is launched', async () => {
    const { id } = await fleet.create()
    expect(await register(id, 'token-1')).toMatchObject({ status: 202 })
  })
})

describe('deregistering a license', () => {
  it('is a separate operation, and repeatable', async () => {
    const { id } = await fleet.running()
    await register(id, 'token-1')
    const given = await fleet.send('DELETE', `workers/${id}/license`)
    expect(given).toMatchObject({ status: 202, json: { license: { product: PRODUCT } } })
    expect(given.json.license.pending_operation).toBe('deregister')
    await report(id, { license: { status: 'DEREGISTERING', operation_started_at: '2026-01-01T00:00:00.000Z' } })
    const again = await fleet.send('DELETE', `workers/${id}/license`)
    expect(again.json).toMatchObject({
      version: given.json.version + 1,
      license: { operation_started_at: '2026-01-01T00:00:00.000Z' },
    })
  })

  it('is left to the termination of a worker', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'terminate')
    expect(await fleet.send('DELETE', `workers/${id}/license`)).toMatchObject({
      status: 409,
      json: { code: 'worker_terminating' },
    })
  })
})

describe('the login of a CML', () => {
  const login = (id: string, password: string, headers: Record<string, string> = {}) =>
    fleet.send('PUT', `workers/${id}/credentials`, { json: { username: 'admin', password }, headers })

  it('is readable by controllers, and its change creates a version', async () => {
    const { id, version } = await fleet.running()
    expect(await secretsOf(id)).toEqual({ license_token: null, cml_username: null, cml_password: null })
    expect(await login(id, 'one')).toMatchObject({ status: 204, body: null })
    expect((await fleet.get(id)).version).toBe(version + 1)
    await login(id, 'two')
    expect(await secretsOf(id)).toEqual({ license_token: null, cml_username: 'admin', cml_password: 'two' })
    const [entry] = await fleet.journal('audit', `worker:${id}`)
    expect(entry?.body).toMatchObject({ action: 'set-credentials', after: { username: 'admin' } })
  })

  it('is not changed by a refused request', async () => {
    const { id, version } = await fleet.running()
    await login(id, 'one')
    expect((await login(id, 'two', { 'if-match': `"${version}"` })).status).toBe(412)
    expect((await secretsOf(id)).cml_password).toBe('one')
    expect(await login('w-none', 'x')).toMatchObject({ status: 404 })
  })
})

it('deletes the secrets of a worker with its record', async () => {
  const { id } = await fleet.running()
  await register(id, 'token-1')
  await fleet.send('PUT', `workers/${id}/credentials`, { json: { username: 'a', password: 'b' } })
  await fleet.act(id, 'terminate')
  await fleet.moveTo(id, 'TERMINATING', 'TERMINATED')
  expect(await stored()).toHaveLength(2)
  expect((await fleet.send('DELETE', `workers/${id}`)).status).toBe(204)
  expect(await stored()).toEqual([])
})

/** Every secret of the store and who may read it. */
const READERS = {
  'worker-controller': { cml_password: 'password-1', license_token: 'token-1', user_data: '#!/bin/sh' },
  'lablet-controller': { cml_password: 'password-1', license_token: null, user_data: undefined },
  'resource-scheduler': { cml_password: undefined, license_token: undefined, user_data: undefined },
} as const

describe('reading secrets', () => {
  const SERVICES = Object.keys(READERS) as (keyof typeof READERS)[]
  const read = async (id: string, service: keyof typeof READERS) => {
    const headers = fleet.asService(service)
    const worker = await fleet.send('GET', `workers/${id}/secrets`, { headers })
    const template = await fleet.send('GET', 'worker-templates/metal/user-data', { headers })
    const { cml_password, license_token } = worker.json
    return { cml_password, license_token, user_data: template.json.user_data }
  }
  const withSecrets = async () => {
    const { id } = await fleet.running()
    const { name: _, ...spec } = METAL
    await fleet.send('PUT', 'worker-templates/metal', { json: { ...spec, user_data: '#!/bin/sh' } })
    await register(id, 'token-1')
    await fleet.send('PUT', `workers/${id}/credentials`, { json: { username: 'admin', password: 'password-1' } })
    return id
  }
  const readsOf = async (subject: string) =>
    (await fleet.journal('audit', subject)).filter(({ body }) => Object(body).action === 'read-secrets')

  it.each(SERVICES)('shows the %s only what it needs', async service => {
    expect(await read(await withSecrets(), service)).toEqual(READERS[service])
  })

  it('of a machine without approval is refused, also to a controller of an older version', async () => {
    const id = await withSecrets()
    const { launch } = await fleet.get(id)
    await fleet.edit(id, () => ({ launch: { ...Object(launch), state: 'adopted' } }))
    const headers = fleet.asService('worker-controller')
    const refused = await fleet.send('GET', `workers/${id}/secrets`, { headers })
    expect(refused).toMatchObject({ status: 409, json: { code: 'worker_not_trusted' } })
    expect(JSON.stringify(refused)).not.toMatch(/token-1|password-1/)
    expect(await readsOf(`worker:${id}`)).toEqual([])
    await fleet.act(id, 'approve')
    expect((await fleet.send('GET', `workers/${id}/secrets`, { headers })).json.cml_password).toBe('password-1')
  })

  it('is recorded once an hour, without values, and no further write follows', async () => {
    const id = await withSecrets()
    for (let n = 0; n < 20; n += 1) for (const service of SERVICES) await read(id, service)
    const entries = await readsOf(`worker:${id}`)
    expect(entries.map(({ body }) => [Object(body).actor.id, Object(body).after.secrets])).toEqual(
      expect.arrayContaining([
        ['worker-controller', ['cml_login', 'license_token']],
        ['lablet-controller', ['cml_login']],
      ]),
    )
    expect(entries).toHaveLength(2)
    expect(JSON.stringify(entries)).not.toMatch(/token-1|password-1/)
    const { id: template } = (await fleet.send('GET', 'worker-templates/metal')).json
    expect(await readsOf(`template:${template}`)).toHaveLength(1)
    await fleet.clock.advance(3_600_000)
    await read(id, 'lablet-controller')
    expect(await readsOf(`worker:${id}`)).toHaveLength(3)
  })

  it('is recorded once by all replicas', async () => {
    const id = await withSecrets()
    const reads = [secretReads(fleet), secretReads(fleet)]
    const actor = { id: 'wc', name: 'wc', role: 'controller', service: 'worker-controller' } as const
    for (const replica of reads) await replica.record(actor, `worker:${id}`, { cml_login: 'x', license_token: null })
    expect(await readsOf(`worker:${id}`)).toHaveLength(1)
  })

  it('of secrets that do not exist is not recorded', async () => {
    const { id } = await fleet.running()
    await read(id, 'worker-controller')
    expect(await readsOf(`worker:${id}`)).toEqual([])
  })

  it('fails if it cannot be recorded', async () => {
    const id = await withSecrets()
    const append = () => Promise.reject(new Error('the disk is full'))
    const journal = { ...fleet.store.journal, append }
    const actor = { id: 'wc', name: 'wc', role: 'controller', service: 'worker-controller' } as const
    const reads = secretReads({ clock: fleet.clock, store: { ...fleet.store, journal } })
    await expect(reads.record(actor, `worker:${id}`, { cml_login: 'x' })).rejects.toThrow('the disk is full')
  })
})
