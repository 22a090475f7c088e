import { expect, it } from 'vitest'
import { makeId } from './ids.ts'

const NOW = Date.parse('2026-11-15T00:00:00Z')

it('makes short ids that sort by time', () => {
  const random = Uint8Array.of(0, 31, 32, 200, 255)
  const first = makeId('w', NOW, random)
  expect(first).toMatch(/^w-[0-9a-z]{13}$/)
  const later = makeId('w', NOW + 1, Uint8Array.of(0, 0, 0, 0, 0))
  expect([later, first].sort()).toEqual([first, later])
})

it('makes different ids within one millisecond', () => {
  expect(makeId('w', NOW, Uint8Array.of(1, 2, 3, 4, 5))).not.toBe(makeId('w', NOW, Uint8Array.of(1, 2, 3, 4, 6)))
})
