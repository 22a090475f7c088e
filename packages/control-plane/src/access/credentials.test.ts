import type { Person } from '@lcm/domain/person'
import type { Token } from '@lcm/domain/token'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Credentials, credentials } from './credentials.ts'

const SECRET = `lcm_${'s'.repeat(43)}`
const AT = '2026-01-01T00:00:00.000Z'
const TOKEN: Token = {
  id: 'tk-1',
  version: 1,
  created_at: AT,
  updated_at: AT,
  name: 'ci',
  person_id: 'pe-1',
  role: 'operator',
  service: null,
  expires_at: null,
}
const ANN: Person = {
  id: 'pe-1',
  version: 1,
  created_at: AT,
  updated_at: AT,
  name: 'Ann',
  email: null,
  role: 'operator',
  groups: [],
  source: 'operator',
  signed_out_at: null,
  merging_into: null,
}
const ACTOR = { id: 'pe-1', name: 'Ann', role: 'operator', service: null }

let clock: ReturnType<typeof manualClock>
let stored: Map<string, Token>
let people: Map<string, Person>
let reads: number
let tokens: Credentials
beforeEach(() => {
  clock = manualClock()
  stored = new Map([[SECRET, TOKEN]])
  people = new Map([[ANN.id, ANN]])
  reads = 0
  tokens = credentials({
    clock,
    findToken: async secret => {
      reads += 1
      return stored.get(secret) ?? null
    },
    getPerson: async id => people.get(id) ?? null,
  })
})

describe('a stored token', () => {
  it('resolves to its person', async () => {
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
  })

  it('is read from the store once a second, also for concurrent requests', async () => {
    await Promise.all([tokens.stored(SECRET), tokens.stored(SECRET)])
    await clock.advance(999)
    await tokens.stored(SECRET)
    expect(reads).toBe(1)
    await clock.advance(1)
    await tokens.stored(SECRET)
    expect(reads).toBe(2)
  })

  it('is refused a second after another replica revoked it, and at once when this one did', async () => {
    await tokens.stored(SECRET)
    stored.clear()
    await clock.advance(999)
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
    tokens.forget()
    expect(await tokens.stored(SECRET)).toBeNull()
    stored.set(SECRET, TOKEN)
    await clock.advance(1_000)
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
    stored.clear()
    await clock.advance(1_000)
    expect(await tokens.stored(SECRET)).toBeNull()
  })

  it('expires to the millisecond', async () => {
    const expires_at = new Date(clock.now() + 500).toISOString()
    stored.set(SECRET, { ...TOKEN, expires_at })
    expect(await tokens.stored(SECRET)).toEqual({ ...ACTOR, expires_at })
    await clock.advance(499)
    expect(await tokens.stored(SECRET)).toEqual({ ...ACTOR, expires_at })
    await clock.advance(1)
    expect(await tokens.stored(SECRET)).toBeNull()
  })

  it('is read again after the store failed', async () => {
    let isDown = true
    tokens = credentials({
      clock,
      getPerson: async id => people.get(id) ?? null,
      findToken: async () => {
        if (isDown) throw new Error('down')
        return TOKEN
      },
    })
    await expect(tokens.stored(SECRET)).rejects.toThrow('down')
    isDown = false
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
  })

  it('is not read from the store when it can’t be a token', async () => {
    for (const secret of ['', 'x', 'lcm_short', `lcm_${'s'.repeat(44)}`, `${SECRET}\n`, `lcm_${'$'.repeat(43)}`]) {
      expect(await tokens.stored(secret)).toBeNull()
    }
    expect(reads).toBe(0)
  })
})

describe('a person', () => {
  const later = () => clock.advance(1_000)
  const change = async (changes: Partial<Person>) => {
    people.set(ANN.id, { ...ANN, ...changes })
    await later()
  }

  it('keeps its identity with another token, name and role', async () => {
    stored.set(SECRET, { ...TOKEN, id: 'tk-2', name: 'a new laptop' })
    await change({ name: 'Ann Lee', role: 'user' })
    expect(await tokens.stored(SECRET)).toEqual({ ...ACTOR, name: 'Ann Lee', role: 'user' })
    expect(await tokens.currentActor('pe-1')).toEqual({ ...ACTOR, name: 'Ann Lee', role: 'user' })
  })

  it('may do with a token what both roles permit', async () => {
    await change({ role: 'admin' })
    expect(await tokens.stored(SECRET)).toMatchObject({ role: 'operator' })
    await change({ role: 'author' })
    expect(await tokens.stored(SECRET)).toMatchObject({ role: 'user' })
  })

  it('has no access a second after its removal, and none while it is merged into another', async () => {
    expect(await tokens.currentActor('pe-1')).toEqual(ACTOR)
    await change({ merging_into: 'pe-2' })
    expect([await tokens.stored(SECRET), await tokens.currentActor('pe-1'), await tokens.keyOf('pe-1')]).toEqual([
      null,
      null,
      null,
    ])
    await change({})
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
    people.clear()
    await clock.advance(999)
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
    await clock.advance(1)
    expect([await tokens.stored(SECRET), await tokens.currentActor('pe-1')]).toEqual([null, null])
  })

  it('has sign-ins that end with another role and when they are ended', async () => {
    const first = await tokens.keyOf('pe-1')
    await change({ name: 'Ann Lee' })
    expect(await tokens.keyOf('pe-1')).toBe(first)
    await change({ role: 'user' })
    const second = await tokens.keyOf('pe-1')
    await change({ role: 'user', signed_out_at: AT })
    expect(new Set([first, second, await tokens.keyOf('pe-1')]).size).toBe(3)
    expect(await tokens.keyOf('pe-2')).toBeNull()
  })

  it('of a token of the process has sign-ins that end with that token and when they are ended', async () => {
    const admin = { id: 'admin', name: 'admin', role: 'admin', service: null } as const
    expect(await tokens.keyOf('admin')).toBeNull()
    tokens.grant('one', admin)
    const first = await tokens.keyOf('admin')
    expect(await tokens.currentActor('admin')).toEqual(admin)
    tokens.grant('two', admin)
    const second = await tokens.keyOf('admin')
    people.set('admin', { ...ANN, id: 'admin', signed_out_at: AT })
    await later()
    expect(new Set([first, second, await tokens.keyOf('admin')]).size).toBe(3)
  })
})

it('a token of a controller belongs to no person', async () => {
  stored.set(SECRET, { ...TOKEN, person_id: null, role: 'controller', service: 'worker-controller' })
  const actor = { id: 'token:tk-1', name: 'ci', role: 'controller', service: 'worker-controller' }
  expect(await tokens.stored(SECRET)).toEqual(actor)
})
