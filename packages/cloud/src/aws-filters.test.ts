import { describe, expect, it } from 'vitest'
import { awsFilters } from './aws-filters.ts'

describe('EC2 filters', () => {
  it('contain every tag and the token, with wildcards escaped', () => {
    expect(awsFilters({ tags: { a: '1', b: 'x*y?\\' }, client_token: 't' })).toEqual([
      [
        { name: 'tag:a', values: ['1'] },
        { name: 'tag:b', values: ['x\\*y\\?\\\\'] },
        { name: 'client-token', values: ['t'] },
      ],
    ])
  })

  it('match any of several keys or images', () => {
    expect(awsFilters({ tag_keys: ['a', 'b'] })).toEqual([[{ name: 'tag-key', values: ['a', 'b'] }]])
    expect(awsFilters({ image_ids: ['ami-1'] })).toEqual([[{ name: 'image-id', values: ['ami-1'] }]])
  })

  it("are split into several requests when one can't hold all values", () => {
    const image_ids = Array.from({ length: 450 }, (_, n) => `ami-${n}`)
    const asked = awsFilters({ image_ids }).map(filters => filters.flatMap(({ values }) => values))
    expect(asked.map(values => values.length)).toEqual([200, 200, 50])
    expect(asked.flat()).toEqual(image_ids)
  })

  it.each([{ tags: {} }, { tag_keys: [] }, { image_ids: [] }])('are rejected when empty: %o', filter => {
    expect(() => awsFilters(filter)).toThrow(expect.objectContaining({ errorClass: 'invalid' }))
  })
})
