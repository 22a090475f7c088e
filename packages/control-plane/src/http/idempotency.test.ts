import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../resources.ts'
import { aFleet, type Fleet } from '../testing/a-fleet.ts'
import { crash } from '../testing/interruptible-store.ts'

const DAY_MS = 24 * 3_600_000
let fleet: Fleet
beforeEach(async () => {
  fleet = aFleet()
  await fleet.send('POST', 'worker-templates', { json: METAL })
})

type Sent = Awaited<ReturnType<Fleet['send']>>
const post = (path: string, json: object, key: string, headers: Record<string, string> = {}): Promise<Sent> =>
  fleet.send('POST', path, { json, headers: { 'idempotency-key': key, ...headers } })
const WORKER = { template_name: 'metal', name: 'mine' }
const createWorker = (key = 'k', body: object = WORKER) => post('workers', body, key)
const workers = async () => (await fleet.send('GET', 'workers')).json.items
const isReplay = ({ headers }: Sent) => headers['idempotent-replayed'] === 'true'
const stored = () => fleet.store.collection(RESOURCES.idempotentRequests).list({ limit: 100 })

describe('a finished request', () => {
  it('is replayed unchanged, with a header', async () => {
    const first = await createWorker()
    expect([first.status, isReplay(first)]).toEqual([201, false])
    await fleet.send('POST', `workers/${first.json.id}/stop`)
    await fleet.clock.advance(3_600_000)
    const again = await createWorker()
    expect(again).toEqual({ ...first, headers: { ...first.headers, 'idempotent-replayed': 'true' } })
    expect(again.headers).toMatchObject({ location: `/api/v1/workers/${first.json.id}`, etag: '"1"' })
    expect(await workers()).toHaveLength(1)
  })

  it('is not replayed for another body: its key is refused', async () => {
    await createWorker()
    const other = await createWorker('k', { ...WORKER, name: 'other' })
    expect(other).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused' } })
    expect(await workers()).toHaveLength(1)
    expect(isReplay(await createWorker())).toBe(true)
  })

  it('is forgotten after a day, and its key can be used again', async () => {
    const first = await createWorker()
    await fleet.clock.advance(DAY_MS)
    expect(isReplay(await createWorker())).toBe(true)
    await fleet.clock.advance(1)
    const later = await createWorker()
    expect([later.status, isReplay(later)]).toEqual([201, false])
    expect(later.json.id).not.toBe(first.json.id)
    await fleet.clock.advance(DAY_MS + 1)
    expect((await createWorker('k', { ...WORKER, name: 'other' })).status).toBe(201)
    expect(await workers()).toHaveLength(3)
  })

  it('belongs to its actor, path and method', async () => {
    const first = await createWorker()
    const headers = { 'idempotency-key': 'k' }
    const another = await fleet.send('POST', 'workers', { as: 'operator', json: WORKER, headers })
    expect([another.status, isReplay(another)]).toEqual([201, false])
    for (const verb of ['stop', 'start']) {
      const acted = await post(`workers/${first.json.id}/${verb}`, {}, 'k')
      expect([acted.status, isReplay(acted)]).toEqual([202, false])
    }
    expect(isReplay(await post(`workers/${another.json.id}/stop`, {}, 'k'))).toBe(false)
    expect(await workers()).toHaveLength(2)
  })

  it('may have been a refusal, which is repeated', async () => {
    const refused = await createWorker('k', { template_name: 'later' })
    expect(refused).toMatchObject({ status: 422, json: { code: 'template_not_found' } })
    await fleet.send('POST', 'worker-templates', { json: { ...METAL, name: 'later' } })
    const again = await createWorker('k', { template_name: 'later' })
    expect([again.status, again.json, isReplay(again)]).toEqual([422, refused.json, true])
    expect(again.headers['content-type']).toBe('application/problem+json')
    expect((await createWorker('k2', { template_name: 'later' })).status).toBe(201)
  })

  it('needs no key', async () => {
    for (let n = 0; n < 2; n += 1) expect((await fleet.send('POST', 'workers', { json: WORKER })).status).toBe(201)
    expect(await workers()).toHaveLength(2)
    expect(await stored()).toEqual([])
  })
})

describe('a key', () => {
  it.each(['x', ' ', 'a b', '~'.repeat(128), '|'])('may be %j', async key => {
    expect((await createWorker(key)).status).toBe(201)
  })

  it.each(['', 'x'.repeat(129), 'ü', 'a\tb', 'a\nb', '\u007f'])('may not be %j', async key => {
    expect(await createWorker(key)).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
    expect(await workers()).toEqual([])
  })

  it('is not stored in plain text', async () => {
    await createWorker('a-very-special-key')
    expect(JSON.stringify(await stored())).not.toContain('a-very-special-key')
  })
})

describe('a request in progress', () => {
  it('is executed once; concurrent ones get Retry-After', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => createWorker()))
    const refused = answers.filter(answer => answer.status === 409)
    expect([answers.length - refused.length, refused.length]).toEqual([1, 9])
    for (const answer of refused) {
      expect(answer.json.code).toBe('idempotency_in_progress')
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expect(isReplay(await createWorker())).toBe(true)
    expect(await workers()).toHaveLength(1)
  })

  it('is taken over by one request 30 s after its replica died', async () => {
    fleet.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', run: crash })
    expect((await createWorker()).status).toBe(503)
    await fleet.clock.advance(29_999)
    expect((await createWorker()).status).toBe(409)
    expect((await createWorker('k', { ...WORKER, name: 'other' })).status).toBe(422)
    await fleet.clock.advance(1)
    const answers = await Promise.all(Array.from({ length: 5 }, () => createWorker()))
    expect(answers.map(answer => answer.status).sort()).toEqual([201, 409, 409, 409, 409])
    expect(await workers()).toHaveLength(1)
  })

  it('does not hold its key longer when the clock is set back after its replica died', async () => {
    fleet.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', run: crash })
    expect((await createWorker()).status).toBe(503)
    fleet.clock.jumpWallClock(-3_600_000)
    expect((await createWorker()).status).toBe(201)
    expect(await workers()).toHaveLength(1)
  })

  it('is not taken over by a replica whose clock is slightly behind', async () => {
    fleet.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', run: crash })
    await createWorker()
    fleet.clock.jumpWallClock(-1_000)
    expect(await createWorker()).toMatchObject({ status: 409, json: { code: 'idempotency_in_progress' } })
  })

  it('is not replayed when it failed with an internal error', async () => {
    fleet.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', run: crash })
    const failed = await createWorker()
    expect([failed.status, isReplay(failed)]).toEqual([503, false])
    await fleet.clock.advance(30_000)
    const later = await createWorker()
    expect([later.status, isReplay(later)]).toEqual([201, false])
  })
})

/** Points at which a process can die in a request that creates a resource of `kind`. */
const deaths = (kind: string) =>
  [
    ['before it is stored', { kind, write: 'insert', when: 'before' }],
    ['after it is stored', { kind, write: 'insert', when: 'after' }],
    ['before the response is stored', { kind: 'idempotent_request', write: 'replace', when: 'before' }],
    ['after the response is stored', { kind: 'idempotent_request', write: 'replace', when: 'after' }],
  ] as const

describe('after a crash there is exactly one', () => {
  it.each(deaths('worker'))('worker: %s', async (_, moment) => {
    const body = { ...WORKER, license: { product: 'CML_Enterprise', token: 'token-1' } }
    fleet.store.interrupt({ ...moment, run: crash })
    expect((await createWorker('k', body)).status).toBe(503)
    const planned = (await stored())[0]?.resource_id
    await fleet.clock.advance(30_000)
    const again = await createWorker('k', body)
    expect([again.status, again.json.id]).toEqual([201, planned])
    expect(await workers()).toEqual([again.json])
    // A crash before the write leaves one more secret, which no document names and which is removed with the resource.
    const kept = await fleet.store.collection(RESOURCES.secrets).list({ limit: 10 })
    expect(
      kept.filter(({ id }) => Object.values(again.json.secret_refs).some(ref => id.endsWith(`:${ref}`))),
    ).toHaveLength(1)
    expect((await createWorker('k', body)).json).toEqual(again.json)
  })

  it.each(deaths('template'))('template: %s', async (_, moment) => {
    const body = { ...METAL, name: 'other', user_data: 'text' }
    fleet.store.interrupt({ ...moment, run: crash })
    expect((await post('worker-templates', body, 'k')).status).toBe(503)
    await fleet.clock.advance(30_000)
    const again = await post('worker-templates', body, 'k')
    expect(again).toMatchObject({ status: 201, json: { name: 'other', version: 1, has_user_data: true } })
    expect((await fleet.send('GET', 'worker-templates/other')).json).toEqual(again.json)
    expect((await fleet.send('GET', 'worker-templates')).json.items).toHaveLength(2)
    // A crash before the write leaves one more secret, which no document names and which is removed with the resource.
    const kept = await fleet.store.collection(RESOURCES.secrets).list({ limit: 10 })
    expect(
      kept.filter(({ id }) => Object.values(again.json.secret_refs).some(ref => id.endsWith(`:${ref}`))),
    ).toHaveLength(1)
  })

  it.each(deaths('token'))('token, whose secret works: %s', async (_, moment) => {
    const body = { name: 'ci', role: 'operator' }
    fleet.store.interrupt({ ...moment, run: crash })
    expect((await post('tokens', body, 'k')).status).toBe(503)
    await fleet.clock.advance(30_000)
    const again = await post('tokens', body, 'k')
    expect(again.status).toBe(201)
    const { secret, ...known } = again.json
    expect((await fleet.send('GET', 'tokens')).json.items).toEqual([known])
    const headers = { authorization: `Bearer ${secret}` }
    expect((await fleet.send('GET', 'info', { headers })).json.actor).toMatchObject({ id: `token:${known.id}` })
    expect((await post('tokens', body, 'k')).json).toEqual(again.json)
  })

  it.each([
    ['before it is applied', { kind: 'worker', write: 'replace', when: 'before' }],
    ['after it is applied', { kind: 'worker', write: 'replace', when: 'after' }],
    ['before the response is stored', { kind: 'idempotent_request', write: 'replace', when: 'before' }],
  ] as const)('act: %s', async (_, moment) => {
    const { id, version } = await fleet.running()
    const headers = { 'if-match': `"${version}"` }
    fleet.store.interrupt({ ...moment, run: crash })
    expect((await post(`workers/${id}/stop`, {}, 'k', headers)).status).toBe(503)
    await fleet.clock.advance(30_000)
    const again = await post(`workers/${id}/stop`, {}, 'k', headers)
    expect(again).toMatchObject({ status: 202, json: { desired_status: 'STOPPED', version: version + 1 } })
    expect(await fleet.journal('audit', `worker:${id}`)).toHaveLength(2)
  })
})

describe('an applied request', () => {
  it('is not applied again over later changes', async () => {
    const { id } = await fleet.running()
    fleet.store.interrupt({ kind: 'idempotent_request', write: 'replace', when: 'before', run: crash })
    await post(`workers/${id}/stop`, {}, 'k')
    const started = (await fleet.act(id, 'start')).json
    await fleet.clock.advance(30_000)
    const again = await post(`workers/${id}/stop`, {}, 'k')
    expect(again).toMatchObject({ status: 202, json: { desired_status: 'RUNNING', version: started.version } })
  })

  it('is remembered in its document, up to the last twenty', async () => {
    const { id } = await fleet.running()
    const keys = async () => (await fleet.get(id)).applied_keys
    for (let n = 0; n < 25; n += 1) await post(`workers/${id}/${n % 2 === 0 ? 'stop' : 'start'}`, {}, `k${n}`)
    expect(await keys()).toHaveLength(20)
    expect(new Set(await keys()).size).toBe(20)
    const before = await keys()
    await fleet.act(id, 'stop')
    await post(`workers/${id}/start`, {}, 'new')
    expect((await keys()).slice(0, 19)).toEqual(before.slice(1))
  })
})

describe('an applied creation', () => {
  it('is replayed also when it would be refused now', async () => {
    fleet.store.interrupt({ kind: 'idempotent_request', write: 'replace', when: 'before', run: crash })
    await createWorker()
    await fleet.send('POST', 'worker-templates/metal/disable')
    await fleet.clock.advance(30_000)
    expect(await createWorker()).toMatchObject({ status: 201, json: (await workers())[0] })
  })

  it('does not restore a secret that was used since', async () => {
    const body = { ...WORKER, license: { product: 'CML_Enterprise', token: 'token-1' } }
    fleet.store.interrupt({ kind: 'idempotent_request', write: 'replace', when: 'before', run: crash })
    await createWorker('k', body)
    const [{ id }] = await workers()
    await fleet.report(id, 1, { license: { status: 'REGISTERED', pending_operation: null } })
    await fleet.clock.advance(30_000)
    expect((await createWorker('k', body)).status).toBe(201)
    expect(await fleet.store.collection(RESOURCES.secrets).list({ limit: 10 })).toEqual([])
  })
})

describe('the secret of a new token', () => {
  it('is returned again for the same key, and is stored nowhere in plain text', async () => {
    const first = await post('tokens', { name: 'ci', role: 'user' }, 'k')
    const again = await post('tokens', { name: 'ci', role: 'user' }, 'k')
    expect([again.json.secret, isReplay(again)]).toEqual([first.json.secret, true])
    const everything = JSON.stringify([
      await stored(),
      await fleet.store.collection(RESOURCES.tokens).list({ limit: 10 }),
    ])
    expect(everything).toContain(first.json.id)
    expect(everything).not.toContain(first.json.secret)
    expect(everything).not.toContain(Buffer.from(first.json.secret).toString('base64url'))
  })
})
