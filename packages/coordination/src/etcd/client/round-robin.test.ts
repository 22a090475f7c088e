import { expect, it } from 'vitest'
import { roundRobin } from './round-robin.ts'

const take = (of: { next(): string }, count: number) => Array.from({ length: count }, () => of.next()).join('')

it('cycles through all members', () => {
  expect(take(roundRobin(['a', 'b', 'c']), 7)).toBe('abcabca')
})

it('skips members marked down until they are marked up', () => {
  const circle = roundRobin(['a', 'b', 'c'])
  circle.markDown('b')
  expect(new Set(take(circle, 6))).toEqual(new Set('ac'))
  circle.markUp('b')
  expect(new Set(take(circle, 6))).toEqual(new Set('abc'))
})

it('uses all members when all are down', () => {
  const circle = roundRobin(['a', 'b'])
  circle.markDown('a')
  circle.markDown('b')
  expect(new Set(take(circle, 4))).toEqual(new Set('ab'))
})

it('never uses the same member twice in a row while there is another', () => {
  const circle = roundRobin(['a', 'b', 'c'])
  circle.next()
  const first = circle.next()
  circle.markDown(first)
  expect(circle.next()).not.toBe(first)
})

it('throws without members', () => {
  expect(() => roundRobin([]).next()).toThrow('no members')
})
