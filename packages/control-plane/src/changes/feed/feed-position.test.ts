import { expect, it } from 'vitest'
import { formatPosition, isAfter, parsePosition, positionAfter } from './feed-position.ts'

const at = (revision: number, nth: number) => ({ revision, nth })

it('parses its own text, where no put equals one put', () => {
  expect([at(7, 0), at(7, 1), at(7, 2)].map(formatPosition)).toEqual(['7', '7', '7.2'])
  expect(['0', '7', '7.1', '7.12'].map(parsePosition)).toEqual([at(0, 1), at(7, 1), at(7, 1), at(7, 12)])
})

it.each(['', '7.', '7.0', '7.1.1', '.1', 'x', '0x7', '-7', '7 ', '1234567890123456', '1.1234567'])(
  'is not parsed from %j',
  text => {
    expect(parsePosition(text)).toBeNull()
  },
)

it('is ordered by revision first', () => {
  expect(isAfter(at(8, 0), at(7, 9))).toBe(true)
  expect(isAfter(at(7, 2), at(7, 1))).toBe(true)
  expect([isAfter(at(7, 1), at(7, 1)), isAfter(at(7, 1), at(7, 2)), isAfter(at(6, 9), at(7, 0))]).toEqual([
    false,
    false,
    false,
  ])
})

it('counts the puts of a revision, and never decreases', () => {
  const put = (revision: number) => ({ type: 'put', key: 'k', hint: null, revision }) as const
  const gone = (revision: number) => ({ type: 'delete', key: 'k', revision }) as const
  const sign = (revision: number) => ({ type: 'progress', revision }) as const
  expect(positionAfter(at(7, 1), put(8))).toEqual(at(8, 1))
  expect(positionAfter(at(8, 1), put(8))).toEqual(at(8, 2))
  expect(positionAfter(at(8, 2), gone(8))).toEqual(at(8, 2))
  expect(positionAfter(at(8, 2), sign(8))).toEqual(at(8, 2))
  expect(positionAfter(at(8, 2), gone(9))).toEqual(at(9, 0))
  expect(positionAfter(at(8, 2), sign(20))).toEqual(at(20, 0))
  expect([put(7), gone(7), sign(7)].map(message => positionAfter(at(8, 2), message))).toEqual(Array(3).fill(at(8, 2)))
})
