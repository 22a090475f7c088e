import type { Collection, Document, Query } from '@lcm/store/store'

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
