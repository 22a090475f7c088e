import { SERVICES } from '@lcm/domain/actor'
import { pageHash, type Query } from '../../state/router.ts'
import { changesOf } from './audit-changes.ts'
import type { Entry } from './audit-entries.ts'

export const WHO = ['all', 'people', 'system'] as const
export type Who = (typeof WHO)[number]

export interface AuditFilter {
  readonly text: string
  readonly who: Who
  /** Such as `worker:w-1`; empty for all resources. */
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

/** The search covers resource names too, which `nameOf` resolves. */
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

/** Treats `desired_status` and `desired status` as the same text. */
const searchable = (text: string): string => text.toLowerCase().replaceAll('_', ' ')

export const actionText = (action: string): string => action.replaceAll(/[-_]/g, ' ')
