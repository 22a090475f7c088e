import type { AuditEntry } from '@lcm/domain/decision'
import { type Column, tableLines } from '../terminal/table.ts'
import type { WorkerNames } from '../worker/worker-names.ts'
import { thingText } from './resource-ref.ts'

const VALUE_CHARS_MAX = 60
/** Of a thing that was made, so many fields say what it is; `-o json` has them all. */
const FIELDS_MAX = 6

/** Who did what to what, what that changed of it, and why. */
export const auditLines = (entries: readonly AuditEntry[], names: WorkerNames): string[] =>
  tableLines(auditColumns(names), entries)

const auditColumns = (names: WorkerNames): readonly Column<AuditEntry>[] => [
  { title: 'WHEN', text: ({ at }) => at },
  { title: 'WHO', text: ({ actor }) => (actor.name === actor.role ? actor.name : `${actor.name} (${actor.role})`) },
  { title: 'DID', text: ({ action }) => action.replaceAll(/[-_]/g, ' ') },
  { title: 'TO', text: ({ resource }) => thingText(resource, names) },
  { title: 'WHAT CHANGED, AND WHY', text: entry => [changesText(entry), entry.reason].filter(Boolean).join('; ') },
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

/** A whole definition may be in there: enough to see what it is about. */
function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value || '""' : JSON.stringify(value)
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text
}

/** Whether it was done by somebody whose name, id or role this is. */
export const isBy = ({ actor }: AuditEntry, who: string): boolean =>
  [actor.name, actor.id, actor.role].some(each => each.toLowerCase() === who.toLowerCase())
