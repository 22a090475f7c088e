import { expect, it } from 'vitest'
import { rotation } from './rotation.ts'

const turns = (of: { next(): string }, count: number) => Array.from({ length: count }, () => of.next()).join('')

it('asks all in turn', () => {
  expect(turns(rotation(['a', 'b', 'c']), 7)).toBe('abcabca')
})

it('leaves out whoever failed lately, until trusted again', () => {
  const circle = rotation(['a', 'b', 'c'])
  circle.suspect('b')
  expect(new Set(turns(circle, 6))).toEqual(new Set('ac'))
  circle.trust('b')
  expect(new Set(turns(circle, 6))).toEqual(new Set('abc'))
})

it('asks all again when all have failed', () => {
  const circle = rotation(['a', 'b'])
  circle.suspect('a')
  circle.suspect('b')
  expect(new Set(turns(circle, 4))).toEqual(new Set('ab'))
})

it('never asks the same twice in a row while there is another', () => {
  const circle = rotation(['a', 'b', 'c'])
  circle.next()
  const first = circle.next()
  circle.suspect(first)
  expect(circle.next()).not.toBe(first)
})

it('has nobody to ask of nobody', () => {
  expect(() => rotation([]).next()).toThrow('nobody')
})
