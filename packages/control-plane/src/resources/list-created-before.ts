import type { Instant } from '@lcm/domain/instant'
import type { Collection, Document, Query } from '@lcm/store/store'

const PAGE = 100

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
    const page = await collection.list({ ...filter, after, limit: PAGE })
    const old = page.filter(each => each.created_at < before)
    all.push(...old)
    const last = page.at(-1)
    if (last === undefined || old.length < PAGE) return all
    after = last.id
  }
}
