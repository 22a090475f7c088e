import { expect, it } from 'vitest'
import { decodeHint, encodeHint, placeholderHint } from './hint-codec.ts'

const HINT = {
  id: 'w-1',
  version: 3,
  updated_at: '2026-01-01T00:00:00Z',
  status: 'RUNNING',
  desired_status: 'STOPPED',
  service_status: 'AVAILABLE',
  restarted_at: '2025-12-31T00:00:00Z',
}

it('decodes to what was encoded', () => {
  expect(decodeHint(encodeHint(HINT))).toEqual(HINT)
  const { status, desired_status, service_status, restarted_at, ...bare } = HINT
  expect([status, desired_status, service_status]).toEqual(['RUNNING', 'STOPPED', 'AVAILABLE'])
  expect(restarted_at).toBe('2025-12-31T00:00:00Z')
  expect(decodeHint(encodeHint(bare))).toEqual(bare)
  const gone = { ...bare, deleted: true } as const
  expect(decodeHint(encodeHint(gone))).toEqual(gone)
})

it('drops other fields', () => {
  const given = { ...HINT, license_token: 'secret' }
  expect(encodeHint(given)).not.toContain('secret')
  expect(decodeHint(JSON.stringify(given))).toEqual(HINT)
})

it.each([
  '',
  'text',
  'null',
  '[]',
  '{}',
  '{"id":"w","version":"3","updated_at":""}',
  '{"id":7,"version":3,"updated_at":""}',
])('rejects %s', text => {
  expect(decodeHint(text)).toBeUndefined()
})

it('of an invalid value still has the id of the key', () => {
  expect(placeholderHint('/lcm/workers/w-1')).toEqual({ id: 'w-1', version: 0, updated_at: '' })
})
