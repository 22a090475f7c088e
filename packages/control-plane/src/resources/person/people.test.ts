import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { codeOf, cookieOf, signIn as signInBrowser, whoIs as whoIsBrowser } from '../../access/testing/a-browser.ts'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

let fleet: Course
beforeEach(() => {
  fleet = aCourse({})
})

const create = async (body: object = {}) =>
  (await fleet.send('POST', 'people', { json: { name: 'Ann', role: 'user', ...body } })).json
const tokenOf = async (person_id: string, role = 'user') =>
  (await fleet.send('POST', 'tokens', { json: { name: 'laptop', role, person_id } })).json
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const whoIs = async (secret: string) => {
  const { status, json } = await fleet.send('GET', 'info', { headers: bearer(secret) })
  return status === 200 ? json.actor : status
}
/** Books as the bearer of this token. */
async function book(secret: string): Promise<string> {
  const json = { definition: 'bgp' }
  return (await fleet.send('POST', 'lablet-sessions', { headers: bearer(secret), json })).json.id
}
const ownSessions = async (secret: string): Promise<string[]> =>
  (await fleet.send('GET', 'lablet-sessions/mine', { headers: bearer(secret) })).json.items.map(
    (session: { id: string }) => session.id,
  )
const signIn = async (id: string): Promise<string> => {
  const { url } = (await fleet.send('POST', `people/${encodeURIComponent(id)}/invite`)).json
  return cookieFrom(url)
}
const cookieFrom = async (url: string): Promise<string> => cookieOf(await signInBrowser(fleet, { code: codeOf(url) }))
const browserIs = (cookie: string) => whoIsBrowser(fleet, cookie)

it('a lost token is replaced without losing sessions', async () => {
  await fleet.define()
  const ann = await create()
  const lost = await tokenOf(ann.id)
  const session = await book(lost.secret)
  const found = await tokenOf(ann.id)
  expect((await fleet.send('DELETE', `tokens/${lost.id}`)).status).toBe(204)
  expect(await whoIs(lost.secret)).toBe(401)
  expect(await whoIs(found.secret)).toEqual({ id: ann.id, name: 'Ann', role: 'user' })
  expect(await ownSessions(found.secret)).toEqual([session])
})

describe('a token', () => {
  it('gets a new person unless it names one', async () => {
    const { id, person_id, secret } = (await fleet.send('POST', 'tokens', { json: { name: 'ci', role: 'author' } }))
      .json
    expect(person_id).toBe(`token:${id}`)
    expect(await whoIs(secret)).toEqual({ id: person_id, name: 'ci', role: 'author' })
    const { json } = await fleet.send('GET', `people/${encodeURIComponent(person_id)}`)
    expect(json).toMatchObject({ name: 'ci', role: 'author', source: 'token' })
  })

  it('finds its new person again when the request is repeated', async () => {
    const repeated = {
      json: { name: 'ci', role: 'user' },
      headers: { authorization: 'Bearer admin', 'idempotency-key': 'k' },
    }
    const [one, two] = [await fleet.send('POST', 'tokens', repeated), await fleet.send('POST', 'tokens', repeated)]
    expect(two.json.person_id).toBe(one.json.person_id)
    expect(await fleet.all('people')).toHaveLength(1)
  })

  it('can’t be stronger than its person', async () => {
    const { id } = await create({ role: 'operator' })
    for (const [role, status] of [
      ['operator', 201],
      ['user', 201],
      ['author', 422],
      ['admin', 422],
    ] as const)
      expect((await fleet.send('POST', 'tokens', { json: { name: 't', role, person_id: id } })).status, role).toBe(
        status,
      )
    const unknown = await fleet.send('POST', 'tokens', { json: { name: 't', role: 'user', person_id: 'pe-none' } })
    expect(unknown).toMatchObject({ status: 422, json: { code: 'person_not_found' } })
    const json = { name: 't', role: 'controller', service: 'worker-controller', person_id: id }
    expect((await fleet.send('POST', 'tokens', { json })).status).toBe(400)
  })

  it('gets the new role of its person at once', async () => {
    const { id } = await create({ role: 'operator' })
    const { secret } = await tokenOf(id, 'operator')
    expect(await whoIs(secret)).toMatchObject({ role: 'operator' })
    await fleet.send('PATCH', `people/${id}`, { json: { role: 'user', name: 'Ann Lee' } })
    expect(await whoIs(secret)).toMatchObject({ role: 'user', name: 'Ann Lee' })
  })
})

describe('an invitation', () => {
  it('is refused for oneself, since a stolen browser session could renew itself with it', async () => {
    await fleet.seed([])
    const answer = await fleet.send('POST', 'people/admin/invite')
    expect(answer).toMatchObject({ status: 403, json: { detail: 'a link for yourself needs your token: lcm open' } })
  })

  it('signs in as the person, once', async () => {
    const ann = await create()
    const { status, json } = await fleet.send('POST', `people/${ann.id}/invite`, { as: 'operator' })
    expect(status).toBe(201)
    const cookie = await cookieFrom(json.url)
    expect(await browserIs(cookie)).toEqual({ id: ann.id, name: 'Ann', role: 'user' })
    expect(await cookieFrom(json.url)).toBe('')
  })

  it('is void after another role, a revocation or a removal', async () => {
    for (const change of [
      (id: string) => fleet.send('PATCH', `people/${id}`, { json: { role: 'author' } }),
      (id: string) => fleet.send('POST', `people/${id}/revoke`),
      (id: string) => fleet.send('DELETE', `people/${id}`),
    ]) {
      const { id } = await create()
      const { url } = (await fleet.send('POST', `people/${id}/invite`)).json
      expect((await change(id)).status).toBeLessThan(300)
      expect(await cookieFrom(url)).toBe('')
    }
  })
})

describe('a sign-in', () => {
  it('ends with another role, when all access is revoked, with a revoked token, and with the person', async () => {
    for (const change of [
      (id: string) => fleet.send('PATCH', `people/${id}`, { json: { role: 'author' } }),
      (id: string) => fleet.send('POST', `people/${id}/revoke`),
      async (id: string) => fleet.send('DELETE', `tokens/${(await tokenOf(id)).id}`),
      (id: string) => fleet.send('DELETE', `people/${id}`),
    ]) {
      const { id } = await create()
      const cookie = await signIn(id)
      expect(await browserIs(cookie)).toMatchObject({ id })
      expect((await change(id)).status).toBeLessThan(300)
      expect(await browserIs(cookie)).toBe(401)
    }
  })

  it('ends also when it began while its token was being revoked', async () => {
    const { id } = await create()
    const found = await tokenOf(id)
    let cookie = ''
    const run = async () => {
      await fleet.clock.advance(5_000)
      cookie = cookieOf(await signInBrowser(fleet, { token: found.secret }))
      expect(await browserIs(cookie)).toMatchObject({ id })
    }
    fleet.store.interrupt({ kind: 'token', write: 'remove', when: 'before', run })
    expect((await fleet.send('DELETE', `tokens/${found.id}`)).status).toBe(204)
    expect(await browserIs(cookie)).toBe(401)
  })

  it('stays when only the name changes', async () => {
    const { id } = await create()
    const cookie = await signIn(id)
    await fleet.send('PATCH', `people/${id}`, { json: { name: 'Ann Lee', email: 'ann@example.org', groups: ['bgp'] } })
    expect(await browserIs(cookie)).toMatchObject({ id })
  })
})

it('a revoked person keeps its record and can be invited again', async () => {
  const { id } = await create()
  const { secret } = await tokenOf(id)
  const { status, json } = await fleet.send('POST', `people/${id}/revoke`, { as: 'operator' })
  expect([status, json.signed_out_at]).toEqual([200, expect.any(String)])
  expect(await whoIs(secret)).toBe(401)
  expect(await browserIs(await signIn(id))).toMatchObject({ id })
})

describe('who manages whom', () => {
  it.each([
    ['operator', 'user', true],
    ['operator', 'author', true],
    ['operator', 'operator', false],
    ['operator', 'admin', false],
    ['admin', 'admin', true],
  ] as const)('%s creates, changes, invites, revokes and removes %s: %s', async (as, role, isAllowed) => {
    const answers = [(await fleet.send('POST', 'people', { as, json: { name: 'New', role } })).status]
    const { id } = await create({ role })
    for (const [method, path, json] of [
      ['PATCH', '', { name: 'Other' }],
      ['POST', '/invite'],
      ['POST', '/revoke'],
      ['DELETE', ''],
    ] as const)
      answers.push((await fleet.send(method, `people/${id}${path}`, { as, json })).status)
    expect(answers).toEqual(isAllowed ? [201, 200, 201, 200, 204] : [403, 403, 403, 403, 403])
  })

  it('an operator promotes no person beyond author', async () => {
    const { id } = await create()
    const promote = async (role: string) =>
      (await fleet.send('PATCH', `people/${id}`, { as: 'operator', json: { role } })).status
    expect([await promote('operator'), await promote('admin'), await promote('author')]).toEqual([403, 403, 200])
  })
})

describe('the built-in person', () => {
  beforeEach(() => fleet.seed([]))

  it('is recorded at the start and can’t be demoted, renamed, removed or merged away', async () => {
    expect((await fleet.send('GET', 'people/admin')).json).toMatchObject({ role: 'admin', source: 'built-in' })
    const { id } = await create()
    const refused = { status: 409, json: { code: 'person_built_in' } }
    expect(await fleet.send('PATCH', 'people/admin', { json: { role: 'user' } })).toMatchObject(refused)
    expect(await fleet.send('PATCH', 'people/admin', { json: { name: 'root' } })).toMatchObject(refused)
    expect(await fleet.send('DELETE', 'people/admin')).toMatchObject(refused)
    expect(await fleet.send('POST', 'people/admin/merge', { json: { into: id } })).toMatchObject(refused)
    expect((await fleet.send('PATCH', 'people/admin', { json: { groups: ['ops'] } })).status).toBe(200)
  })

  it('is signed out in browsers when all its access is revoked, but its first token stays', async () => {
    const cookie = await cookieFrom((await fleet.send('POST', 'login-links')).json.url)
    expect(await browserIs(cookie)).toMatchObject({ id: 'admin' })
    await fleet.send('POST', 'people/admin/revoke')
    expect([await browserIs(cookie), await whoIs('admin')]).toEqual([
      401,
      { id: 'admin', name: 'admin', role: 'admin' },
    ])
  })
})

describe('removing a person', () => {
  it('is refused while sessions are open, and says how many', async () => {
    await fleet.define()
    const { id } = await create()
    const { secret } = await tokenOf(id)
    const sessions = [await book(secret), await book(secret)]
    const refused = await fleet.send('DELETE', `people/${id}`)
    expect(refused).toMatchObject({ status: 409, json: { code: 'person_has_sessions' } })
    expect(refused.json.detail).toContain(`Ann has 2 open sessions: ${sessions.toSorted().join(', ')}`)
    expect(await whoIs(secret)).toMatchObject({ id })
    for (const session of sessions) await fleet.send('POST', `lablet-sessions/${session}/cancel`)
    for (const session of await fleet.all('sessions'))
      await fleet.put('sessions', { ...session, status: 'TERMINATED', version: session.version + 1 })
    expect((await fleet.send('DELETE', `people/${id}`)).status).toBe(204)
    expect(await whoIs(secret)).toBe(401)
    expect(await fleet.all('tokens')).toEqual([])
    expect((await fleet.send('GET', `lablet-sessions/${sessions[0]}`)).json).toMatchObject({ owner_name: 'Ann' })
  })

  it('removes its quota, so that a person who comes back starts without one', async () => {
    const { id } = await create()
    await fleet.send('PATCH', `quotas/${id}`, { json: { live_sessions: 5 } })
    await fleet.send('DELETE', `people/${id}`)
    expect(await fleet.all('quotas')).toEqual([])
  })

  it('never creates it again at the next start', async () => {
    const { id, person_id } = (await fleet.send('POST', 'tokens', { json: { name: 'ci', role: 'user' } })).json
    await fleet.send('DELETE', `people/${encodeURIComponent(person_id)}`)
    await fleet.seed([])
    expect((await fleet.all('people')).map(person => person.id)).not.toContain(`token:${id}`)
  })

  it('honors If-Match', async () => {
    const { id } = await create()
    const headers = { authorization: 'Bearer admin', 'if-match': '"7"' }
    expect((await fleet.send('DELETE', `people/${id}`, { headers })).status).toBe(412)
    expect((await fleet.send('PATCH', `people/${id}`, { headers, json: { name: 'X' } })).status).toBe(412)
  })
})

it.each([
  [{ name: '' }],
  [{ name: 'x\u001b[2J' }],
  [{ role: 'controller' }],
  [{ role: 'king' }],
  [{ email: 'ann' }],
  [{ groups: ['\u0007'] }],
  [{ source: 'provider' }],
])('refuses a person with %j', async wrong => {
  const { status, json } = await fleet.send('POST', 'people', { json: { name: 'Ann', role: 'user', ...wrong } })
  expect([status, json.code]).toEqual([400, 'validation_failed'])
})

it('lists people to operators, page by page', async () => {
  const plane = aControlPlane()
  for (const name of ['Ann', 'Bob', 'Cy']) await plane.send('POST', 'people', { json: { name, role: 'user' } })
  const { json } = await plane.send('GET', 'people?limit=2', { as: 'operator' })
  expect(json.items).toHaveLength(2)
  const rest = await plane.send('GET', `people?cursor=${json.next_cursor}`, { as: 'operator' })
  expect([rest.json.items.length, rest.json.next_cursor]).toEqual([1, null])
})
