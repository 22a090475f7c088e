import type { Token } from '@lcm/domain/token'
import { expect, it } from 'vitest'
import { expiryAt, inOrder } from './token-expiry.ts'

const NOW_MS = Date.parse('2026-01-02T03:04:05.000Z')
const token = (name: string, expires_at: string | null): Token => ({
  id: name,
  version: 1,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  name,
  person_id: 'pe-1',
  role: 'user',
  service: null,
  expires_at,
})

it('is relative to now, or never', () => {
  expect(expiryAt('in 30 days', NOW_MS)).toBe('2026-02-01T03:04:05.000Z')
  expect(expiryAt('never', NOW_MS)).toBeNull()
})

it('sorts tokens by name, expired ones last', () => {
  const tokens = [token('b', null), token('a', '2026-01-02T03:04:05.000Z'), token('c', '2026-01-02T03:04:06.000Z')]
  expect(inOrder(tokens, NOW_MS).map(({ name }) => name)).toEqual(['b', 'c', 'a'])
})
