import type { Collection, Document, Query } from '@lcm/store/store'
import type { Api } from '../http/api.ts'

/**
 * One page of a list. The position is read before the documents, so whoever follows the events from it may see a change
 * twice but never misses one. The cursor is the last id: it stays good whatever is added or removed meanwhile.
 */
export async function listPage<T extends Document>(
  api: Api,
  collection: Collection<T>,
  page: { limit: number; cursor?: string | undefined },
  filter: Omit<Query, 'limit' | 'after'>,
): Promise<{ items: T[]; next_cursor: string | null; revision: string }> {
  const revision = await api.feed.position()
  const after = page.cursor === undefined ? {} : { after: page.cursor }
  const found = await collection.list({ ...filter, ...after, limit: page.limit + 1 })
  const items = found.slice(0, page.limit)
  return { items, next_cursor: found.length > page.limit ? (items.at(-1)?.id ?? null) : null, revision }
}
