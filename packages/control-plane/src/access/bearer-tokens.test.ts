import type { Token } from '@lcm/domain/token'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { type BearerTokens, bearerTokens } from './bearer-tokens.ts'

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
let looked: number
let tokens: BearerTokens
beforeEach(() => {
  clock = manualClock()
  stored = new Map([[SECRET, TOKEN]])
  looked = 0
  const look = async (find: () => Token | undefined) => {
    looked += 1
    return find() ?? null
  }
  tokens = bearerTokens({
    clock,
    findToken: secret => look(() => stored.get(secret)),
    getToken: id => look(() => [...stored.values()].find(token => token.id === id)),
  })
})

describe('a stored token', () => {
  it('is an actor who keeps its identity when it is renamed', async () => {
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
  })

  it('is looked up once a second, also when many ask at once', async () => {
    await Promise.all([tokens.stored(SECRET), tokens.stored(SECRET)])
    await clock.advance(999)
    await tokens.stored(SECRET)
    expect(looked).toBe(1)
    await clock.advance(1)
    await tokens.stored(SECRET)
    expect(looked).toBe(2)
  })

  it('is gone a second after it was revoked elsewhere, and at once when here', async () => {
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

  it('is over to the millisecond', async () => {
    stored.set(SECRET, { ...TOKEN, expires_at: new Date(clock.now() + 500).toISOString() })
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
    await clock.advance(499)
    expect(await tokens.stored(SECRET)).toEqual(ACTOR)
    await clock.advance(1)
    expect(await tokens.stored(SECRET)).toBeNull()
  })

  it('is looked up again after the store did not answer', async () => {
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

  it('costs no lookup when it can not be one', async () => {
    for (const secret of ['', 'x', 'lcm_short', `lcm_${'s'.repeat(44)}`, `${SECRET}\n`, `lcm_${'$'.repeat(43)}`]) {
      expect(await tokens.stored(secret)).toBeNull()
    }
    expect(looked).toBe(0)
  })
})

it('knows what the logins of an actor hang on', async () => {
  expect(await tokens.keyOf('admin')).toBeNull()
  tokens.grant('one', { id: 'admin', name: 'admin', role: 'admin', service: null })
  const first = await tokens.keyOf('admin')
  tokens.grant('two', { id: 'admin', name: 'admin', role: 'admin', service: null })
  expect(await tokens.keyOf('admin')).not.toBe(first)
  expect(await tokens.keyOf('token:tk-1')).toBe('tk-1')
  expect(await tokens.keyOf('token:tk-2')).toBeNull()
  expect(await tokens.keyOf('oidc:tk-1')).toBeNull()
})
