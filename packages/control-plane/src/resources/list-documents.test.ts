import type { Query } from '@lcm/store/store'
import { describe, expect, it } from 'vitest'
import { listCreatedBefore } from './list-documents.ts'

const minute = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString()

/** One per minute. */
function aCollection(count: number) {
  const all = Array.from({ length: count }, (_, n) => ({
    id: `ls-${String(n).padStart(6, '0')}`,
    version: 1,
    created_at: minute(n),
  }))
  const queries: Query[] = []
  return {
    queries,
    async list(query: Query) {
      queries.push(query)
      return all.filter(({ id }) => id > (query.after ?? '')).slice(0, query.limit)
    },
  }
}

describe('documents created before a time', () => {
  it('are found completely, over several pages', async () => {
    const collection = aCollection(1_000)
    const found = await listCreatedBefore(collection, minute(250), { where: { is_over: 'yes' } })
    expect(found.map(({ created_at }) => created_at)).toEqual(Array.from({ length: 250 }, (_, n) => minute(n)))
    expect(collection.queries.every(({ where }) => where?.is_over === 'yes')).toBe(true)
  })

  it('are found when all documents are old', async () => {
    expect(await listCreatedBefore(aCollection(200), minute(900), {})).toHaveLength(200)
  })

  it('are not read beyond the first younger one', async () => {
    const collection = aCollection(1_000)
    expect(await listCreatedBefore(collection, minute(0), {})).toEqual([])
    expect(collection.queries).toHaveLength(1)
  })
})
