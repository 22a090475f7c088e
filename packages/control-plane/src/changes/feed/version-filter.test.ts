import { expect, it } from 'vitest'
import { versionFilter } from './version-filter.ts'

it('accepts a version once, and no older one after it', () => {
  const { accept: isNews } = versionFilter(10)
  expect([isNews('a', 2), isNews('a', 2), isNews('a', 1), isNews('a', 3), isNews('b', 1), isNews('c', 0)]).toEqual([
    true,
    false,
    false,
    true,
    true,
    false,
  ])
})

it('remembers a limited number of deleted keys, and all present ones', () => {
  const { accept: isNews, release } = versionFilter(2)
  for (const key of ['kept', 'a', 'b', 'c']) isNews(key, 5)
  for (const key of ['a', 'b', 'c', 'never seen']) release(key)
  expect([isNews('a', 5), isNews('b', 5), isNews('c', 5), isNews('kept', 5)]).toEqual([true, false, false, false])
  expect(isNews('b', 6)).toBe(true)
  release('b')
  expect(isNews('b', 6)).toBe(false)
})
