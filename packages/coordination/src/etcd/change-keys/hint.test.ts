import { expect, it } from 'vitest'
import { hintFromText, hintOfKey, hintToText } from './hint.ts'

const HINT = { id: 'w-1', version: 3, updated_at: '2026-01-01T00:00:00Z', status: 'RUNNING', desired_status: 'STOPPED' }

it('comes back as it went', () => {
  expect(hintFromText(hintToText(HINT))).toEqual(HINT)
  const { status, desired_status, ...bare } = HINT
  expect([status, desired_status]).toEqual(['RUNNING', 'STOPPED'])
  expect(hintFromText(hintToText(bare))).toEqual(bare)
  const gone = { ...bare, deleted: true } as const
  expect(hintFromText(hintToText(gone))).toEqual(gone)
})

it('takes nothing along that is no part of it', () => {
  const given = { ...HINT, licence_token: 'secret' }
  expect(hintToText(given)).not.toContain('secret')
  expect(hintFromText(JSON.stringify(given))).toEqual(HINT)
})

it.each([
  '',
  'text',
  'null',
  '[]',
  '{}',
  '{"id":"w","version":"3","updated_at":""}',
  '{"id":7,"version":3,"updated_at":""}',
])('is not what %s is', text => {
  expect(hintFromText(text)).toBeUndefined()
})

it('of a spoiled key still says which key', () => {
  expect(hintOfKey('/lcm/workers/w-1')).toEqual({ id: 'w-1', version: 0, updated_at: '' })
})
