import type { AnswerOf } from '@lcm/contract/routes'
import { SERVICES } from '@lcm/domain/actor'
import { pageHash, type Query } from '../../state/router.ts'
import { changesOf } from './audit-changes.ts'

type Page = AnswerOf<'listAudit'>
export type Entry = Page['items'][number]

/** Newest first, without gaps, down to where `cursor` reads on; null at the end of what is kept. */
export interface Held {
  readonly entries: readonly Entry[]
  readonly cursor: string | null
}

export const NOTHING_HELD: Held = { entries: [], cursor: null }

/** With the newest page on top. If too much happened in between, what is older is let go rather than shown with a gap. */
export function withNewest(held: Held, page: Pick<Page, 'items' | 'next_cursor'>): Held {
  const known = new Set(held.entries.map(entry => entry.id))
  const fresh = page.items.filter(entry => !known.has(entry.id))
  const hasGap = page.next_cursor !== null && fresh.length === page.items.length
  if (held.entries.length === 0 || hasGap) return { entries: page.items, cursor: page.next_cursor }
  if (fresh.length === 0) return held
  return { entries: inOrder([...fresh, ...held.entries]), cursor: held.cursor }
}

/** `asked` is the cursor that the page was asked for by: what has been let go since is not to be read on from. */
export function withOlder(held: Held, asked: string, page: Pick<Page, 'items' | 'next_cursor'>): Held {
  if (held.cursor !== asked) return held
  const known = new Set(held.entries.map(entry => entry.id))
  const more = page.items.filter(entry => !known.has(entry.id))
  return { entries: [...held.entries, ...more], cursor: page.next_cursor }
}

const inOrder = (entries: readonly Entry[]): Entry[] =>
  entries.toSorted((a, b) => b.at.localeCompare(a.at) || b.id.localeCompare(a.id))

export const WHO = ['all', 'people', 'system'] as const
export type Who = (typeof WHO)[number]

export interface AuditFilter {
  readonly text: string
  readonly who: Who
  /** Such as `worker:w-1`; empty for everything. */
  readonly resource: string
}

export const NO_FILTER: AuditFilter = { text: '', who: 'all', resource: '' }

export const filterOf = (query: Query): AuditFilter => ({
  text: query.q ?? '',
  who: WHO.find(each => each === query.by) ?? 'all',
  resource: query.resource ?? '',
})

export const auditHash = ({ text, who, resource }: AuditFilter): string =>
  pageHash('audit', { q: text, by: who === 'all' ? '' : who, resource })

const PEOPLE: readonly string[] = ['admin', 'operator', 'author', 'user']
const isService = (id: string): boolean => SERVICES.some(service => service === id)
const isPerson = ({ actor }: Entry): boolean => PEOPLE.includes(actor.role) && !isService(actor.id)

/** `nameOf` tells what people call a resource, so that they can look for that. */
export function matches(entry: Entry, { text, who }: AuditFilter, nameOf: (resource: string) => string): boolean {
  if (who !== 'all' && isPerson(entry) !== (who === 'people')) return false
  const wanted = searchable(text.trim())
  if (wanted === '') return true
  const { actor, action, resource, reason } = entry
  const words = [actor.name, actor.role, actionText(action), resource, nameOf(resource), reason]
  const changes = changesOf(entry).map(({ name, before, after }) =>
    [name, before, after].filter(each => each !== null).join(' '),
  )
  return [...words, ...changes].some(word => searchable(word).includes(wanted))
}

/** The page shows `desired_status` with a space; whoever knows its other name finds it too. */
const searchable = (text: string): string => text.toLowerCase().replaceAll('_', ' ')

export const actionText = (action: string): string => action.replaceAll(/[-_]/g, ' ')
