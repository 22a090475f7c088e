import type { Instant } from '@lcm/domain/instant'
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

const PAGE = 500

/** Every document that matches, page by page to the end. */
export async function listAll<T extends Document>(
  collection: Collection<T>,
  filter: Omit<Query, 'limit' | 'after'> = {},
): Promise<T[]> {
  const all: T[] = []
  let after = ''
  for (;;) {
    const page = await collection.list({ ...filter, after, limit: PAGE })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return all
    after = last.id
  }
}

/** Few documents are old, so that a small page suffices. */
const OLD_PAGE = 100

/**
 * Every document that matches and was made before then. Ids begin with the time they were made at, so the first that is too
 * young is followed by none that is not, and what is young is never read.
 */
export async function listCreatedBefore<T extends Document & { readonly created_at: Instant }>(
  collection: Pick<Collection<T>, 'list'>,
  before: Instant,
  filter: Omit<Query, 'limit' | 'after'>,
): Promise<T[]> {
  const all: T[] = []
  let after = ''
  for (;;) {
    const page = await collection.list({ ...filter, after, limit: OLD_PAGE })
    const old = page.filter(each => each.created_at < before)
    all.push(...old)
    const last = page.at(-1)
    if (last === undefined || old.length < OLD_PAGE) return all
    after = last.id
  }
}
