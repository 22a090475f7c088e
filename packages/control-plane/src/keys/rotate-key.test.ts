import { silentLogger } from '@lcm/runtime'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { describe, expect, it } from 'vitest'
import { keyIdIn, keyIdOf, sealing } from '../crypto.ts'
import { RESOURCES } from '../resources.ts'
import { aFleet, type Fleet } from '../testing/a-fleet.ts'
import { crash } from '../testing/interruptible-store.ts'
import { keyRing } from './key-ring.ts'
import { givenKeys, storedKeys } from './secret-keys.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const random = seededRandom(5)
const randomBytes = (size: number) => random.bytes(size)
const key = (byte: number) => Buffer.alloc(32, byte)
const id = (byte: number) => keyIdOf(key(byte))
const rotate = (fleet: Fleet) => fleet.send('POST', 'secret-key/rotate')
const setLogin = (fleet: Fleet, worker: string, password: string) =>
  fleet.send('PUT', `workers/${worker}/credentials`, { json: { username: 'admin', password } })
const loginOf = async (fleet: Fleet, worker: string) =>
  (await fleet.send('GET', `workers/${worker}/secrets`, { as: 'controller' })).json.cml_password
const createToken = (fleet: Fleet, name: string) =>
  fleet.send('POST', 'tokens', { json: { name, role: 'user' }, headers: { 'idempotency-key': name } })
/** The ids of the keys of all stored texts. */
async function keysInUse({ store }: Fleet): Promise<Set<string>> {
  const secrets = await store.collection(RESOURCES.secrets).list({ limit: 10_000 })
  const requests = await store.collection(RESOURCES.idempotentRequests).list({ limit: 10_000 })
  const texts = [...secrets.map(({ sealed }) => sealed), ...requests.flatMap(({ answer }) => answer?.sealed_body ?? [])]
  return new Set(texts.map(text => keyIdIn(text) ?? 'none'))
}

/** Repeats the command as `lcm rotate-key` does. */
async function rotateUntilDone(fleet: Fleet): Promise<number> {
  for (let resealed = 0; ; ) {
    const { status, json } = await rotate(fleet)
    if (status !== 200) throw new Error(json.detail)
    resealed += json.resealed
    if (json.done) return resealed
  }
}

describe('rotating the key of a data folder', () => {
  it('seals every text again and removes the old key', async () => {
    const secretKeys = storedKeys([key(1)])
    const fleet = aFleet({ secretKeys })
    const { id: worker } = await fleet.running()
    await setLogin(fleet, worker, 'first')
    const { json: token } = await createToken(fleet, 'ci')
    expect(await keysInUse(fleet)).toEqual(new Set([id(1)]))

    const { json } = await rotate(fleet)
    expect(json).toMatchObject({ resealed: 2, done: true, removable_keys: [] })
    expect(secretKeys.all().map(keyIdOf)).toEqual([json.active_key])
    expect(await keysInUse(fleet)).toEqual(new Set([json.active_key]))
    expect(await loginOf(fleet, worker)).toBe('first')
    expect((await createToken(fleet, 'ci')).json).toEqual(token)
    const audit = await fleet.journal('audit', 'key_ring:keys')
    expect(audit.map(({ body }) => Object(body).action)).toEqual(['rotate-key'])
  })

  it('takes as many requests as it needs', async () => {
    const fleet = aFleet({ secretKeys: storedKeys([key(1)]) })
    const old = sealing(key(1), 'secrets', randomBytes)
    const ids = Array.from({ length: 700 }, (_, n) => `worker:w-1:cml_login:${n}`)
    const secrets = ids.map(id => ({ id, version: 1, resource: 'worker:w-1', sealed: old.seal(id, id) }))
    await fleet.put('secrets', ...secrets)
    const open = { id: 'open', version: 1, body_sha256: '', resource_id: 'w-1', started_at: NOW, answer: null }
    await fleet.put('idempotentRequests', open)
    expect((await rotate(fleet)).json).toMatchObject({ resealed: 500, done: false })
    expect((await rotate(fleet)).json).toMatchObject({ resealed: 200, done: true })
    expect((await keysInUse(fleet)).size).toBe(1)
    // Failed requests stay open for a day, so there may be many.
    expect(await fleet.all('idempotentRequests')).toMatchObject([{ version: 2 }])
  })

  it('leaves texts that no key opens', async () => {
    const fleet = aFleet({ secretKeys: storedKeys([key(1)]) })
    const sealed = sealing(key(9), 'secrets', randomBytes).seal('lost', 'x')
    await fleet.put('secrets', { id: 'x', version: 1, resource: 'worker:w-1', sealed })
    expect((await rotate(fleet)).json).toMatchObject({ resealed: 0, done: true })
    expect((await fleet.all('secrets')).map(secret => secret.sealed)).toEqual([sealed])
  })

  it('seals texts of 0.1.0 again, which name no key', async () => {
    const fleet = aFleet({ secretKeys: storedKeys([key(1)]) })
    const { id: worker } = await fleet.running()
    await setLogin(fleet, worker, 'first')
    const [secret] = await fleet.store.collection(RESOURCES.secrets).list({ limit: 1 })
    if (secret === undefined) throw new Error('no secret')
    await fleet.put('secrets', { ...secret, sealed: secret.sealed.replace(/^k1_.{8}_/, '') })
    expect(await loginOf(fleet, worker)).toBe('first')
    const { json } = await rotate(fleet)
    expect(json).toMatchObject({ resealed: 1, done: true })
    expect(await loginOf(fleet, worker)).toBe('first')
    expect(await keysInUse(fleet)).toEqual(new Set([json.active_key]))
  })

  it('is for admins', async () => {
    const fleet = aFleet()
    expect((await fleet.send('POST', 'secret-key/rotate', { as: 'operator' })).status).toBe(403)
  })
})

/** Every write of a rotation. */
const STEPS = (['before', 'after'] as const).flatMap(when =>
  [
    { kind: 'key_ring', skip: 0 },
    { kind: 'key_ring', skip: 1 },
    { kind: 'secret', skip: 0 },
    { kind: 'secret', skip: 1 },
    { kind: 'idempotent_request', skip: 0 },
    { kind: 'idempotent_request', skip: 1 },
  ].map(step => ({ ...step, when })),
)

describe('a rotation that is killed', () => {
  it.each(STEPS)('$when write $skip of $kind loses nothing, and a repeat ends it', async ({ kind, skip, when }) => {
    const store = openSqliteStore(':memory:')
    const secretKeys = storedKeys([key(1)])
    const fleet = aFleet({ store, secretKeys })
    const workers = await Promise.all([1, 2, 3].map(async () => (await fleet.running()).id))
    const [first = '', second = '', third = ''] = workers
    await setLogin(fleet, first, 'first')
    await setLogin(fleet, second, 'second')
    const tokens = [await createToken(fleet, 'one'), await createToken(fleet, 'two')].map(({ json }) => json)

    fleet.store.interrupt({ kind, write: 'replace', when, skip, run: crash })
    expect((await rotate(fleet)).status).toBe(503)
    // The next process has the store and the key file, and nothing else.
    const next = aFleet({ store, secretKeys: storedKeys(secretKeys.all()) })
    const readsAll = async () => {
      expect(await loginOf(next, first)).toBe('first')
      expect(await loginOf(next, second)).toBe('second')
      expect((await createToken(next, 'one')).json).toEqual(tokens[0])
      expect((await createToken(next, 'two')).json).toEqual(tokens[1])
    }
    await readsAll()
    await setLogin(next, third, 'third')
    await rotateUntilDone(next)
    await readsAll()
    expect(await loginOf(next, third)).toBe('third')
    expect((await keysInUse(next)).size).toBe(1)
  })

  it('before the key is active continues with the same key', async () => {
    const secretKeys = storedKeys([key(1)])
    const fleet = aFleet({ secretKeys })
    await setLogin(fleet, (await fleet.running()).id, 'x')
    fleet.store.interrupt({ kind: 'key_ring', write: 'replace', when: 'before', run: crash })
    await rotate(fleet)
    const [added] = secretKeys.all().map(keyIdOf)
    expect((await rotate(fleet)).json).toMatchObject({ active_key: added, done: true })
  })

  it('by a full disk keeps the old key', async () => {
    let isFull = false
    const secretKeys = storedKeys([key(1)], () => {
      if (isFull) throw new Error('no space left')
    })
    const fleet = aFleet({ secretKeys })
    const { id: worker } = await fleet.running()
    await setLogin(fleet, worker, 'first')
    isFull = true
    expect((await rotate(fleet)).json).toMatchObject({ code: 'store_unavailable', detail: 'no space left' })
    expect(await loginOf(fleet, worker)).toBe('first')
    isFull = false
    await rotateUntilDone(fleet)
    expect(await loginOf(fleet, worker)).toBe('first')
  })
})

describe('a write during a rotation', () => {
  it('of a secret that was sealed with the old key is sealed again', async () => {
    const fleet = aFleet({ secretKeys: storedKeys([key(1)]) })
    const { id: worker } = await fleet.running()
    // The rotation begins and ends between the seal and the insertion.
    const run = () => rotateUntilDone(fleet)
    fleet.store.interrupt({ kind: 'secret', write: 'insert', when: 'before', run })
    expect((await setLogin(fleet, worker, 'late')).status).toBe(204)
    expect(await loginOf(fleet, worker)).toBe('late')
    expect((await keysInUse(fleet)).size).toBe(1)
    await rotateUntilDone(fleet)
    expect(await loginOf(fleet, worker)).toBe('late')
  })

  it('of an answer that was sealed with the old key is sealed again', async () => {
    const fleet = aFleet({ secretKeys: storedKeys([key(1)]) })
    await fleet.send('GET', 'info')
    fleet.store.interrupt({
      kind: 'idempotent_request',
      write: 'replace',
      when: 'before',
      run: () => rotateUntilDone(fleet),
    })
    const { json } = await createToken(fleet, 'late')
    expect((await createToken(fleet, 'late')).json).toEqual(json)
    await rotateUntilDone(fleet)
    expect((await createToken(fleet, 'late')).json).toEqual(json)
  })

  it('by another rotation ends with one key', async () => {
    const secretKeys = storedKeys([key(1)])
    const fleet = aFleet({ secretKeys })
    const { id: worker } = await fleet.running()
    await setLogin(fleet, worker, 'first')
    await Promise.all([rotateUntilDone(fleet), rotateUntilDone(fleet), rotateUntilDone(fleet)])
    await rotateUntilDone(fleet)
    expect(secretKeys.all()).toHaveLength(1)
    expect(await loginOf(fleet, worker)).toBe('first')
  })
})

describe('rotating the key of a cluster', () => {
  const store = () => openSqliteStore(':memory:')
  const replica = (shared: ReturnType<typeof store>, ...keys: number[]) =>
    aFleet({ store: shared, secretKeys: givenKeys(keys.map(key)), randomBytes })

  it('says what to do first', async () => {
    const fleet = replica(store(), 1)
    const { status, json } = await rotate(fleet)
    expect([status, json.code]).toEqual([409, 'key_rotation_blocked'])
    expect(json.detail).toMatch(/LCM_SECRET_KEY has no new key in front of .{8}\. Put one there/)
  })

  it('waits until every replica has the new key, and removes none', async () => {
    const shared = store()
    const [one, two] = [replica(shared, 1), replica(shared, 2, 1)]
    const stopOne = one.run()
    const stopTwo = two.run()
    await Promise.all([one, two].map(({ clock }) => clock.advance(1)))
    const { id: worker } = await one.running()
    await setLogin(one, worker, 'first')

    expect((await rotate(two)).json).toMatchObject({
      code: 'key_rotation_blocked',
      detail: expect.stringMatching(new RegExp(`^1 API replica does not have the key ${id(2)} yet`)),
    })
    // A text of the new replica is sealed with the key that all have.
    await setLogin(two, worker, 'second')
    expect(await loginOf(one, worker)).toBe('second')

    await stopOne()
    const again = replica(shared, 2, 1)
    expect((await rotate(again)).json).toMatchObject({
      active_key: id(2),
      resealed: 1,
      done: true,
      removable_keys: [id(1)],
    })
    expect(await loginOf(two, worker)).toBe('second')
    expect(await loginOf(replica(shared, 2), worker)).toBe('second')
    expect((await rotate(two)).json.detail).toContain(`Keys that can be removed: ${id(1)}.`)
    await stopTwo()
  })

  it('refuses secrets on a replica that lacks the active key, and says so', async () => {
    const shared = store()
    const ahead = replica(shared, 2, 1)
    const stop = ahead.run()
    await ahead.clock.advance(1)
    const { id: worker } = await ahead.running()
    await setLogin(ahead, worker, 'first')
    await rotateUntilDone(ahead)
    const behind = replica(shared, 1)
    const { status, json } = await behind.send('GET', `workers/${worker}/secrets`, { as: 'controller' })
    expect([status, json.code]).toEqual([503, 'secret_key_missing'])
    expect(await setLogin(behind, worker, 'lost')).toMatchObject({ status: 503 })
    expect(await loginOf(ahead, worker)).toBe('first')
    await stop()
  })

  it('does nothing on a replica that could not store the answer', async () => {
    const shared = store()
    const ahead = replica(shared, 2, 1)
    const stop = ahead.run()
    await ahead.clock.advance(1)
    await rotateUntilDone(ahead)
    expect((await createToken(replica(shared, 1), 'ci')).json.code).toBe('secret_key_missing')
    expect(await ahead.all('tokens')).toEqual([])
    const { status, json } = await createToken(ahead, 'ci')
    expect([status, json.secret]).toEqual([201, expect.any(String)])
    await stop()
  })

  it('seals texts of a lost key again that was put back, before it may be removed', async () => {
    const shared = store()
    const before = replica(shared, 1)
    const { id: worker } = await before.running()
    await setLogin(before, worker, 'first')
    expect(await loginOf(replica(shared, 2), worker)).toBeNull()
    const again = replica(shared, 2, 1)
    expect(await loginOf(again, worker)).toBe('first')
    expect((await rotate(again)).json).toMatchObject({ active_key: id(2), resealed: 1, removable_keys: [id(1)] })
    expect((await rotate(again)).json.detail).toContain(`Keys that can be removed: ${id(1)}.`)
    expect(await loginOf(replica(shared, 2), worker)).toBe('first')
  })

  it('does not go back where a replica has its keys in another order', async () => {
    const shared = store()
    const [one, two] = [replica(shared, 2, 1), replica(shared, 1, 2)]
    const { id: worker } = await one.running()
    await setLogin(one, worker, 'first')
    one.store.interrupt({ kind: 'secret', write: 'replace', when: 'before', run: crash })
    expect((await rotate(one)).status).toBe(503)
    const { json } = await rotate(two)
    expect(json).toMatchObject({
      code: 'key_rotation_blocked',
      detail: expect.stringContaining(
        `This replica has the older key ${id(1)} in front of ${id(2)}. Give every replica`,
      ),
    })
    await rotateUntilDone(one)
    expect(await loginOf(two, worker)).toBe('first')
  })

  it('counts a replica whose report met a write of another one', async () => {
    const shared = store()
    const [one, two] = [replica(shared, 1), replica(shared, 2, 1)]
    const stopTwo = two.run()
    await two.clock.advance(1)
    // The other one reports in between.
    one.store.interrupt({ kind: 'key_ring', write: 'replace', when: 'before', run: () => two.clock.advance(30_000) })
    const stopOne = one.run()
    await one.clock.advance(1)
    await expect.poll(async () => Object.keys((await one.all('keyRings'))[0]?.replicas ?? {})).toHaveLength(2)
    expect((await rotate(two)).json).toMatchObject({ code: 'key_rotation_blocked' })
    await Promise.all([stopOne(), stopTwo()])
  })
})

it('continues after its key was lost, and opens its secrets again when the key is back', async () => {
  const store = openSqliteStore(':memory:')
  const before = aFleet({ store, secretKeys: storedKeys([key(1)]) })
  const [{ id: one }, { id: two }] = [await before.running(), await before.running()]
  await setLogin(before, one, 'first')
  const without = aFleet({ store, secretKeys: storedKeys([key(2)]) })
  expect(await loginOf(without, one)).toBeNull()
  await setLogin(without, two, 'second')
  const again = aFleet({ store, secretKeys: storedKeys([key(2), key(1)]) })
  expect([await loginOf(again, one), await loginOf(again, two)]).toEqual(['first', 'second'])
  await rotateUntilDone(again)
  expect([await loginOf(again, one), await loginOf(again, two)]).toEqual(['first', 'second'])
})

it('adds a key after the new one of a rotation was lost', async () => {
  const store = openSqliteStore(':memory:')
  const before = aFleet({ store, secretKeys: storedKeys([key(1)]) })
  const { id: worker } = await before.running()
  await setLogin(before, worker, 'first')
  before.store.interrupt({ kind: 'secret', write: 'replace', when: 'before', run: crash })
  expect((await rotate(before)).status).toBe(503)
  // An older copy of the key file was put back.
  const secretKeys = storedKeys([key(1)])
  const again = aFleet({ store, secretKeys })
  await rotateUntilDone(again)
  expect(await loginOf(again, worker)).toBe('first')
  expect(secretKeys.all().map(keyIdOf)).not.toContain(id(1))
})

it('ends cookies with their key', async () => {
  const fleet = aFleet()
  const keys = storedKeys([key(1)])
  const rings = fleet.store.collection(RESOURCES.keyRings)
  const { cookies } = keyRing({ keys, rings, clock: fleet.clock, randomBytes, log: silentLogger })
  const cookie = cookies.seal('ada', 'session')
  keys.file?.add(key(2))
  expect(cookies.open(cookie, 'session')).toBe('ada')
  // Secrets and cookies have different keys.
  expect(sealing(key(1), 'secrets', randomBytes).open(cookie, 'session')).toBeNull()
  keys.file?.remove([id(1)])
  expect(cookies.open(cookie, 'session')).toBeNull()
  expect(cookies.open(cookies.seal('bob', 'session'), 'session')).toBe('bob')
})
