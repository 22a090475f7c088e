import { describe, expect, it } from 'vitest'
import { documentCache } from './document-cache.ts'

const document = (id: string, version = 1) => ({ id, version })

describe('known documents', () => {
  it('are given in the version that is asked for, and in no other', () => {
    const cache = documentCache()
    const known = document('a', 2)
    cache.put(known, 10)
    expect([cache.get('a', 2), cache.get('a', 1), cache.get('b', 2)]).toEqual([known, undefined, undefined])
    expect([cache.versionOf('a'), cache.versionOf('b')]).toEqual([2, 0])
  })

  it('have one version at a time', () => {
    const cache = documentCache()
    cache.put(document('a', 2), 10)
    cache.put(document('a', 3), 10)
    expect([cache.get('a', 2), cache.versionOf('a')]).toEqual([undefined, 3])
  })

  it('are forgotten when they are too much, those first that came first', () => {
    const cache = documentCache(100)
    for (const id of ['a', 'b', 'c']) cache.put(document(id), 40)
    expect(['a', 'b', 'c'].map(cache.versionOf)).toEqual([0, 1, 1])
  })

  it('count with their newest version only', () => {
    const cache = documentCache(100)
    for (const version of [1, 2, 3]) cache.put(document('a', version), 60)
    cache.put(document('b'), 40)
    expect(['a', 'b'].map(cache.versionOf)).toEqual([3, 1])
  })

  it('that are too much alone are not kept', () => {
    const cache = documentCache(100)
    cache.put(document('a'), 101)
    expect(cache.versionOf('a')).toBe(0)
  })
})
