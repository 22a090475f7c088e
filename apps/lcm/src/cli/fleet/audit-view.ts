import type { AuditEntry } from '@lcm/domain/journal-records'
import { type Column, tableLines } from '../terminal/table.ts'
import type { WorkerNames } from '../worker/worker-names.ts'
import { resourceText } from './resource-reference-text.ts'

const VALUE_CHARS_MAX = 60
/** Maximum number of fields shown for a created resource; `-o json` has all of them. */
const FIELDS_MAX = 6

/** The audit log as a table. */
export const auditLines = (entries: readonly AuditEntry[], names: WorkerNames): string[] =>
  tableLines(auditColumns(names), entries)

const auditColumns = (names: WorkerNames): readonly Column<AuditEntry>[] => [
  { title: 'WHEN', text: ({ at }) => at },
  { title: 'ACTOR', text: ({ actor }) => (actor.name === actor.role ? actor.name : `${actor.name} (${actor.role})`) },
  { title: 'ACTION', text: ({ action }) => action.replaceAll(/[-_]/g, ' ') },
  { title: 'RESOURCE', text: ({ resource }) => resourceText(resource, names) },
  { title: 'CHANGES AND REASON', text: entry => [changesText(entry), entry.reason].filter(Boolean).join('; ') },
]

function changesText({ before, after }: AuditEntry): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const shown = names.slice(0, FIELDS_MAX).map(name => `${name} ${changeText(before[name], after[name])}`)
  const hidden = names.length - shown.length
  return [...shown, ...(hidden > 0 ? [`${hidden} more fields`] : [])].join(', ')
}

function changeText(before: unknown, after: unknown): string {
  if (before === undefined) return valueText(after)
  return `${valueText(before)} -> ${after === undefined ? 'nothing' : valueText(after)}`
}

/** Shortens a value, which may be a whole definition. */
function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value || '""' : JSON.stringify(value)
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text
}

/** Whether the name, id or role of the actor matches. */
export const isBy = ({ actor }: AuditEntry, who: string): boolean =>
  [actor.name, actor.id, actor.role].some(each => each.toLowerCase() === who.toLowerCase())
