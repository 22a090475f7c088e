import { describe, expect, it } from 'vitest'
import { awsFilters } from './aws-filters.ts'

describe('filters in the terms of EC2', () => {
  it('name every tag and the token, with wildcards taken as they are', () => {
    expect(awsFilters({ tags: { a: '1', b: 'x*y?\\' }, client_token: 't' })).toEqual([
      { name: 'tag:a', value: '1' },
      { name: 'tag:b', value: 'x\\*y\\?\\\\' },
      { name: 'client-token', value: 't' },
    ])
  })

  it('are refused when there are none', () => {
    expect(() => awsFilters({ tags: {} })).toThrow(expect.objectContaining({ errorClass: 'invalid' }))
  })
})
