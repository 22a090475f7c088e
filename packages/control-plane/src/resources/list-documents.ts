import { mayView } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import type { Instant } from '@lcm/domain/instant'
import type { Collection, Document, Query } from '@lcm/store/store'
import type { ApiParts } from '../api-dependencies.ts'

/**
 * One page of a list. The position is read before the documents, so a client that follows events from it may see a change
 * twice but misses none. The cursor is the last id: it stays valid when documents are added or removed.
 */
export async function listPage<T extends Document>(
  { feed }: Pick<ApiParts, 'feed'>,
  collection: Collection<T>,
  page: { limit: number; cursor?: string | undefined },
  filter: Omit<Query, 'limit' | 'after'>,
): Promise<{ items: T[]; next_cursor: string | null; revision: string }> {
  const revision = await feed.position()
  const after = page.cursor === undefined ? {} : { after: page.cursor }
  const found = await collection.list({ ...filter, ...after, limit: page.limit + 1 })
  const items = found.slice(0, page.limit)
  return { items, next_cursor: found.length > page.limit ? (items.at(-1)?.id ?? null) : null, revision }
}

/**
 * The facets of a list of what people own. Those who may not view it all get their own only; with a filter for another owner they
 * get nothing.
 */
export function ownedWhere(
  actor: Actor,
  { owner, ...filters }: { readonly owner?: string | undefined } & Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const visible = mayView(actor, '') ? owner : actor.id
  const isHidden = owner !== undefined && owner !== visible
  const given = Object.entries({ ...filters, owner: isHidden ? NO_OWNER : visible })
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
const NO_OWNER = ''

const PAGE = 500

/** Every matching document, page by page. */
export async function* pagesOf<T extends Document>(
  collection: Collection<T>,
  filter: Omit<Query, 'limit' | 'after'> = {},
  size = PAGE,
): AsyncGenerator<readonly T[]> {
  let after = ''
  for (;;) {
    const page = await collection.list({ ...filter, after, limit: size })
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < size) return
    after = last.id
  }
}

export async function listAll<T extends Document>(
  collection: Collection<T>,
  filter: Omit<Query, 'limit' | 'after'> = {},
): Promise<T[]> {
  const all: T[] = []
  for await (const page of pagesOf(collection, filter)) all.push(...page)
  return all
}

/** Few documents are old, so a small page is enough. */
const OLD_PAGE = 100

/**
 * Every matching document created before then. Ids begin with their creation time, so the list ends at the first younger one.
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
