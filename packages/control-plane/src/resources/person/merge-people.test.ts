import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let fleet: Course
beforeEach(async () => {
  fleet = aCourse({})
  await fleet.define()
})

const create = async (name: string, role = 'user'): Promise<string> =>
  (await fleet.send('POST', 'people', { json: { name, role } })).json.id
const tokenOf = async (person_id: string): Promise<string> =>
  (await fleet.send('POST', 'tokens', { json: { name: 'laptop', role: 'user', person_id } })).json.secret
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const book = (secret: string, more: object = {}) =>
  fleet.send('POST', 'lablet-sessions', { headers: bearer(secret), json: { definition: 'bgp', ...more } })
const whoIs = async (secret: string) => (await fleet.send('GET', 'info', { headers: bearer(secret) })).json.actor?.id
const merge = (from: string, into: string, as: 'admin' | 'operator' = 'admin') =>
  fleet.send('POST', `people/${from}/merge`, { as, json: { into } })
const ownersOf = async () => (await fleet.all('sessions')).map(({ owner, owner_name }) => [owner, owner_name])
const peopleNow = async () => (await fleet.all('people')).map(({ name }) => name)

/** Housekeeping until every merge has ended. */
async function settle(): Promise<void> {
  const stop = fleet.run()
  await fleet.clock.advance(3 * 60_000)
  await stop()
}

/** Ann with two tokens and three sessions, one of which is over, and Bob. */
async function annAndBob() {
  const [ann, bob] = [await create('Ann'), await create('Bob')]
  const secrets = [await tokenOf(ann), await tokenOf(ann)]
  for (const _ of [1, 2, 3]) await book(secrets[0] ?? '')
  const [first] = await fleet.all('sessions')
  if (first) await fleet.put('sessions', { ...first, status: 'TERMINATED', version: first.version + 1 })
  return { ann, bob, secrets }
}

async function expectMerged({ ann, bob, secrets }: Awaited<ReturnType<typeof annAndBob>>): Promise<void> {
  expect(await ownersOf()).toEqual(Array(3).fill([bob, 'Bob']))
  for (const secret of secrets) expect(await whoIs(secret)).toBe(bob)
  expect((await fleet.send('GET', `people/${ann}`)).status).toBe(404)
  expect(await peopleNow()).toEqual(['Bob'])
}

it('gives every session and token to the other person and removes the record', async () => {
  const both = await annAndBob()
  expect(await merge(both.ann, both.bob, 'operator')).toMatchObject({ status: 200, json: { id: both.bob } })
  expect(await ownersOf()).toEqual(Array(3).fill([both.bob, 'Bob']))
  expect(await whoIs(both.secrets[0] ?? '')).toBe(both.bob)
  expect((await merge(both.ann, both.bob)).status).toBe(200)
  await settle()
  await expectMerged(both)
})

it('of two people with the same reservation_id drops the one of the person that goes', async () => {
  const both = await annAndBob()
  const bobs = await book(await tokenOf(both.bob), { reservation_id: 'R-1' })
  const anns = await book(both.secrets[0] ?? '', { reservation_id: 'R-1' })
  await book(both.secrets[0] ?? '', { reservation_id: 'R-2' })
  expect((await merge(both.ann, both.bob)).status).toBe(200)
  await settle()
  expect(await peopleNow()).toEqual(['Bob'])
  const reserved = async (id: string) => (await fleet.session(id)).reservation_id
  expect(await reserved(bobs.json.id)).toBe('R-1')
  expect(await reserved(anns.json.id)).toBeNull()
  const sessions = await fleet.all('sessions')
  expect(sessions.map(({ reservation_id }) => reservation_id)).toContain('R-2')
  expect(new Set(sessions.map(({ owner }) => owner))).toEqual(new Set([both.bob]))
})

describe('a crash', () => {
  it.each([
    { kind: 'person', write: 'replace', when: 'after' },
    { kind: 'token', write: 'replace', when: 'before' },
    { kind: 'token', write: 'replace', when: 'after', skip: 1 },
    { kind: 'session', write: 'replace', when: 'before' },
    { kind: 'session', write: 'replace', when: 'after', skip: 1 },
    { kind: 'session', write: 'replace', when: 'after', skip: 2 },
  ] as const)('at any step is finished by housekeeping: %j', async moment => {
    const both = await annAndBob()
    fleet.store.interrupt({ ...moment, run: crash })
    expect((await merge(both.ann, both.bob)).status).toBe(503)
    await settle()
    await expectMerged(both)
  })

  it('while the record is removed is no loss either', async () => {
    const both = await annAndBob()
    await merge(both.ann, both.bob)
    fleet.store.interrupt({ kind: 'person', write: 'remove', when: 'before', run: crash })
    await settle()
    await settle()
    await expectMerged(both)
  })
})

it('moves a session that was booked at the same time', async () => {
  const both = await annAndBob()
  await merge(both.ann, both.bob)
  const [session] = await fleet.all('sessions')
  if (!session) throw new Error('no session')
  await fleet.put('sessions', { ...session, owner: both.ann, owner_name: 'Ann', version: session.version + 1 })
  await settle()
  await expectMerged(both)
})

it('ends the access of the person at once', async () => {
  const { ann, bob } = await annAndBob()
  const { url } = (await fleet.send('POST', `people/${ann}/invite`)).json
  await merge(ann, bob)
  const headers = { host: 'localhost:8080' }
  const answer = await fleet.dispatch({ method: 'GET', url, headers, body: null, signal: new AbortController().signal })
  expect(answer.headers['set-cookie']).toBeUndefined()
  const merging = { status: 409, json: { code: 'person_merging' } }
  expect(await fleet.send('POST', `people/${ann}/invite`)).toMatchObject(merging)
  expect(await fleet.send('PATCH', `people/${ann}`, { json: { name: 'X' } })).toMatchObject(merging)
  expect(await fleet.send('DELETE', `people/${ann}`)).toMatchObject(merging)
  expect(await fleet.send('DELETE', `people/${bob}`)).toMatchObject(merging)
  const json = { name: 't', role: 'user', person_id: ann }
  expect(await fleet.send('POST', 'tokens', { json })).toMatchObject(merging)
})

it('never loses anything when two people are merged into each other at once', async () => {
  const { ann, bob, secrets } = await annAndBob()
  await Promise.all([merge(ann, bob), merge(bob, ann)])
  await settle()
  await settle()
  const people = await fleet.all('people')
  const ids = new Set(people.map(({ id }) => id))
  expect(people.length).toBeGreaterThan(0)
  for (const [owner = ''] of await ownersOf()) expect(ids).toContain(owner)
  for (const secret of secrets) expect(ids).toContain(await whoIs(secret))
})

it('keeps a person from being removed by another request', async () => {
  const { ann, bob, secrets } = await annAndBob()
  const run = () => merge(ann, bob)
  fleet.store.interrupt({ kind: 'person', write: 'remove', when: 'before', run })
  expect(await fleet.send('DELETE', `people/${bob}`)).toMatchObject({ status: 412 })
  await settle()
  await expectMerged({ ann, bob, secrets })
})

it('undoes a merge whose target vanished', async () => {
  const { ann, bob, secrets } = await annAndBob()
  const marked = await fleet.all('people')
  for (const person of marked)
    if (person.id === ann) await fleet.put('people', { ...person, merging_into: bob, version: person.version + 1 })
  await fleet.remove('people', bob)
  await settle()
  expect(await whoIs(secrets[0] ?? '')).toBe(ann)
  expect(await ownersOf()).toEqual(Array(3).fill([ann, 'Ann']))
})

it('merges a chain', async () => {
  const { ann, bob, secrets } = await annAndBob()
  const cy = await create('Cy')
  fleet.store.interrupt({ kind: 'token', write: 'replace', when: 'before', run: crash })
  await merge(ann, bob)
  await merge(bob, cy)
  await settle()
  await settle()
  expect(await peopleNow()).toEqual(['Cy'])
  expect(await ownersOf()).toEqual(Array(3).fill([cy, 'Cy']))
  for (const secret of secrets) expect(await whoIs(secret)).toBe(cy)
})

it('is refused for unknown, equal and stronger people', async () => {
  const [ann, bob, admin] = [await create('Ann'), await create('Bob'), await create('Root', 'admin')]
  expect(await merge(ann, 'pe-none')).toMatchObject({ status: 422, json: { code: 'person_not_found' } })
  expect(await merge('pe-none', bob)).toMatchObject({ status: 404 })
  expect(await merge(ann, ann)).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
  expect(await merge(ann, admin, 'operator')).toMatchObject({ status: 403 })
  expect(await merge(admin, ann, 'operator')).toMatchObject({ status: 403 })
  expect(await merge(ann, bob, 'operator')).toMatchObject({ status: 200 })
})

describe('a reservation number of both people', () => {
  it('stays with the other person, and other merges end too', async () => {
    const [ann, bob, cy] = [await create('Ann'), await create('Bob'), await create('Cy')]
    const json = { definition: 'bgp', reservation_id: 'r-1' }
    for (const person of [ann, bob])
      await fleet.send('POST', 'lablet-sessions', { headers: bearer(await tokenOf(person)), json })
    expect((await merge(ann, bob)).status).toBe(200)
    await merge(cy, bob)
    await settle()
    const sessions = await fleet.all('sessions')
    expect(sessions.map(({ owner, reservation_id }) => [owner, reservation_id])).toEqual([
      [bob, null],
      [bob, 'r-1'],
    ])
    expect(await peopleNow()).toEqual(['Bob'])
  })
})

describe('the quota', () => {
  const quotaOf = async (id: string) => (await fleet.send('GET', `quotas/${id}`)).json
  const limit = (id: string, json: object) => fleet.send('PATCH', `quotas/${id}`, { json })

  it('follows the sessions, with the limits that were given', async () => {
    const [ann, bob] = [await create('Ann'), await create('Bob')]
    const [ofAnn, ofBob] = [await tokenOf(ann), await tokenOf(bob)]
    await limit(ann, { live_sessions: 3, core_hours_per_week: 500 })
    await limit(bob, { live_sessions: 2 })
    for (const secret of [ofAnn, ofBob]) await book(secret)
    expect((await quotaOf(ann)).used.live_sessions).toBe(1)
    await merge(ann, bob)
    await settle()
    const used = { live_sessions: 2 }
    expect(await quotaOf(bob)).toMatchObject({ given: { live_sessions: 2, core_hours_per_week: 500 }, used })
    expect((await book(ofBob)).json).toMatchObject({ code: 'quota_exceeded' })
    expect((await fleet.all('quotas')).map(({ id }) => id)).toEqual([bob])
  })

  it.each(['before', 'after'] as const)('survives a crash %s it was removed', async when => {
    const [ann, bob] = [await create('Ann'), await create('Bob')]
    await limit(ann, { live_sessions: 3 })
    await book(await tokenOf(ann))
    fleet.store.interrupt({ kind: 'quota', write: 'remove', when, run: crash })
    expect((await merge(ann, bob)).status).toBe(503)
    await settle()
    expect((await fleet.all('quotas')).map(({ id, ledger }) => [id, Object.keys(ledger).length])).toEqual([[bob, 1]])
  })
})
