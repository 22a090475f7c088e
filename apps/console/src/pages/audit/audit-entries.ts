import type { AnswerOf } from '@lcm/contract/routes'

type Page = AnswerOf<'listAudit'>
export type Entry = Page['items'][number]

/** Entries newest first, without gaps. `cursor` loads older ones; null at the end. */
export interface Held {
  readonly entries: readonly Entry[]
  readonly cursor: string | null
}

export const NOTHING_HELD: Held = { entries: [], cursor: null }

/** Adds the newest page. Drops older entries when there is a gap between them and the page. */
export function withNewest(held: Held, page: Pick<Page, 'items' | 'next_cursor'>): Held {
  const known = new Set(held.entries.map(entry => entry.id))
  const fresh = page.items.filter(entry => !known.has(entry.id))
  const hasGap = page.next_cursor !== null && fresh.length === page.items.length
  if (held.entries.length === 0 || hasGap) return { entries: page.items, cursor: page.next_cursor }
  if (fresh.length === 0) return held
  return { entries: inOrder([...fresh, ...held.entries]), cursor: held.cursor }
}

/** Adds an older page, unless the entries before it were dropped since `cursor` was read. */
export function withOlder(held: Held, cursor: string, page: Pick<Page, 'items' | 'next_cursor'>): Held {
  if (held.cursor !== cursor) return held
  const known = new Set(held.entries.map(entry => entry.id))
  const more = page.items.filter(entry => !known.has(entry.id))
  return { entries: [...held.entries, ...more], cursor: page.next_cursor }
}

const inOrder = (entries: readonly Entry[]): Entry[] =>
  entries.toSorted((a, b) => b.at.localeCompare(a.at) || b.id.localeCompare(a.id))
