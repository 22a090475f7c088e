import { describe, expect, it } from 'vitest'
import { filterTest, pageOf, patternOf } from './filters-and-paging.ts'

describe('a filter value', () => {
  it.each([
    ['cml-*', 'cml-2.9.1', true],
    ['cml-*', 'CML-2.9.1', false],
    ['w-?', 'w-1', true],
    ['w-?', 'w-', true],
    ['w-?', 'w-12', false],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'aXb', false],
    ['a.b', 'aXb', false],
    ['(x|y)', '(x|y)', true],
    ['*', 'two\nlines', true],
    ['\\\\', '\\', true],
  ])('%j against %j is %s', (pattern, value, expected) => {
    expect(patternOf(pattern).test(value)).toBe(expected)
  })

  it('matches any of its values, while all filters must match', () => {
    const test = filterTest([
      { name: 'color', values: ['red', 'blue'] },
      { name: 'size', values: ['l*'] },
    ])
    const thing = (color: string, size: string) => (name: string) => (name === 'color' ? [color] : [size])
    expect([test(thing('blue', 'large')), test(thing('blue', 'small')), test(thing('green', 'large'))]).toEqual([
      true,
      false,
      false,
    ])
  })

  it('is rejected for an unknown filter', () => {
    expect(() => filterTest([{ name: 'taste', values: ['x'] }])(() => null)).toThrow("The filter 'taste' is invalid")
  })
})

describe('pages', () => {
  const numbers = Array.from({ length: 23 }, (_, n) => n)
  const rank = (n: number) => n

  it('show every item once, whatever appears or disappears in between', () => {
    const seen: number[] = []
    let token: string | null = null
    do {
      const page: ReturnType<typeof pageOf<number>> = pageOf(
        numbers.filter(n => n !== seen.at(-1)),
        rank,
        { max_results: 5, next_token: token },
      )
      seen.push(...page.items)
      token = page.next_token
    } while (token !== null)
    expect(seen).toEqual(numbers)
  })

  it('have no token when no item is left', () => {
    expect(pageOf(numbers.slice(0, 5), rank, { max_results: 5, next_token: null }).next_token).toBeNull()
    expect(pageOf(numbers, rank, { max_results: null, next_token: null }).items).toHaveLength(23)
  })

  it('reject sizes and tokens that EC2 rejects', () => {
    expect(() => pageOf(numbers, rank, { max_results: 4, next_token: null })).toThrow('maxResults')
    expect(() => pageOf(numbers, rank, { max_results: 5, next_token: 'x' })).toThrow('pagination token')
  })
})
