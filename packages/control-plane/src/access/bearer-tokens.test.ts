import type { Token } from '@lcm/domain/token'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { type BearerTokens, bearerTokens } from './access-control.ts'

const SECRET = `lcm_${'s'.repeat(43)}`
const AT = '2026-01-01T00:00:00.000Z'
const TOKEN: Token = {
  id: 'tk-1',
  version: 1,
  created_at: AT,
  updated_at: AT,
  name: 'ci',
  role: 'operator',
  service: null,
  expires_at: null,
}
const ACTOR = { id: 'token:tk-1', name: 'ci', role: 'operator', service: null }

let clock: ReturnType<typeof manualClock>
let stored: Map<string, Token>
let reads: number
let tokens: BearerTokens
beforeEach(() => {
  clock = manualClock()
  stored = new Map([[SECRET, TOKEN]])
  reads = 0
  const read = async (find: () => Token | undefined) => {
    reads += 1
    return find() ?? null
  }
  tokens = bearerTokens({
    clock,
    findToken: secret => read(() => stored.get(secret)),
    getToken: id => read(() => [...stored.values()].find(token => token.id === id)),
  })
})

describe('a stored token', () => {
  it('resolves to an actor that keeps its identity when the token is renamed', async () => {
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
    stored.set(SECRET, { ...TOKEN, expires_at: new Date(clock.now() + 500).toISOString() })
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
    await clock.advance(499)
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
    await clock.advance(1)
    expect(await tokens.stored(SECRET)).toBeNull()
  })

  it('is read again after the store failed', async () => {
    let isDown = true
    tokens = bearerTokens({
      clock,
      getToken: async () => null,
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

it('returns an actor as of now', async () => {
  tokens.grant('one', { id: 'admin', name: 'admin', role: 'admin', service: null })
  expect(await tokens.currentActor('admin')).toMatchObject({ role: 'admin' })
  tokens.grant('two', { id: 'admin', name: 'admin', role: 'operator', service: null })
  expect(await tokens.currentActor('admin')).toMatchObject({ role: 'operator' })
  expect(await tokens.currentActor('token:tk-1')).toEqual(ACTOR)
  stored.clear()
  await clock.advance(1_000)
  expect(await tokens.currentActor('token:tk-1')).toBeNull()
  expect(await tokens.currentActor('oidc:u-1')).toBeNull()
})

it('returns the credentials that the logins of an actor depend on', async () => {
  expect(await tokens.keyOf('admin')).toBeNull()
  tokens.grant('one', { id: 'admin', name: 'admin', role: 'admin', service: null })
  const first = await tokens.keyOf('admin')
  tokens.grant('two', { id: 'admin', name: 'admin', role: 'admin', service: null })
  expect(await tokens.keyOf('admin')).not.toBe(first)
  expect(await tokens.keyOf('token:tk-1')).toBe('tk-1')
  expect(await tokens.keyOf('token:tk-2')).toBeNull()
  expect(await tokens.keyOf('oidc:tk-1')).toBeNull()
})
