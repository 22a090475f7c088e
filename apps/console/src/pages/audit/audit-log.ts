import type { AnswerOf } from '@lcm/contract/routes'
import { SERVICES } from '@lcm/domain/actor'
import { pageHash, type Query } from '../../router.ts'

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

export function withOlder(held: Held, page: Pick<Page, 'items' | 'next_cursor'>): Held {
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
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return true
  const { actor, action, resource, reason } = entry
  const words = [actor.name, actor.role, actionText(action), resource, nameOf(resource), reason]
  const changes = changesOf(entry).map(({ name, before, after }) => `${name} ${before ?? ''} ${after ?? ''}`)
  return [...words, ...changes].some(word => word.toLowerCase().includes(wanted))
}

export const actionText = (action: string): string => action.replaceAll(/[-_]/g, ' ')

export interface FieldChange {
  readonly name: string
  /** Null where there was nothing. */
  readonly before: string | null
  readonly after: string | null
}

export function changesOf({ before, after }: Entry): FieldChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.map(name => ({ name, before: valueText(before[name]), after: valueText(after[name]) }))
}

const VALUE_CHARS_MAX = 120

/** A whole definition may be in there: enough to see what it is about. */
function valueText(value: unknown): string | null {
  if (value === undefined) return null
  const text = typeof value === 'string' ? value || '""' : JSON.stringify(value)
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text
}
