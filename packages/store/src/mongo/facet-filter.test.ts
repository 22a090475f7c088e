import { describe, expect, it } from 'vitest'
import type { Query } from '../store.ts'
import { facetsOf, listFilter } from './facet-filter.ts'

describe('facets', () => {
  it('keep name and value apart, whatever characters they contain', () => {
    expect(facetsOf({ 'a=b': 'c' })).not.toEqual(facetsOf({ a: 'b=c' }))
    expect(facetsOf({ 'a%3Db': 'c' })).not.toEqual(facetsOf({ 'a=b': 'c' }))
  })

  const containing = (name: string, value: string): string => {
    const query: Query = { contains: { [name]: value }, limit: 1 }
    return JSON.parse(JSON.stringify(listFilter(query))).$and[0].facets.$regex
  }

  it('are searched by a pattern that escapes every character', () => {
    expect(containing('name', 'a.b*')).toBe('^name\\=(?is:.*a\\.b\\*)')
    expect(containing('name', '\\E(?')).toBe('^name\\=(?is:.*\\\\E\\(\\?)')
    expect(containing('name', 'Ä1😀')).toBe('^name\\=(?is:.*Ä1\\😀)')
  })

  it('are searched without the character that no server accepts in a pattern', () => {
    expect(containing('name', 'a\0b')).toBe('^name\\=(?is:.*a\\x00b)')
  })
})
