import type { AnswerOf } from '@lcm/contract/routes'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { countText } from '@lcm/domain/text/format-amounts'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { type Column, printable } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'

/** A definition as in lists and events, without its topology. */
export type DefinitionSummary = AnswerOf<'listDefinitions'>['items'][number]

export const needsOf = ({ needs }: Pick<LabletDefinition, 'needs'>): string =>
  `${needs.cpu_cores} CPU, ${needs.memory_gb} GB, ${countText(needs.node_count, 'node')}`

export type Warned = Pick<AnswerOf<'getDefinition'>, 'warnings'>

/** Why nothing can run it now, for people who have just changed it. */
export const warningLines = ({ warnings }: Warned): string[] =>
  warnings.map(({ message }) => `warning: ${printable(message)}`)

export const longestOf = ({ max_duration_minutes }: DefinitionSummary): string =>
  formatDuration(max_duration_minutes * 60_000)

export const definitionColumns = (nowMs: number, colors: Colors): readonly Column<DefinitionSummary>[] => [
  { title: 'NAME', text: definition => definition.name },
  { title: 'VERSION', text: definition => definition.definition_version },
  { title: 'ID', text: definition => definition.id },
  {
    title: 'STATUS',
    text: definition => definition.status,
    paint: (text, definition) => statusColor(definition.status, colors)(text),
  },
  { title: 'NEEDS', text: needsOf },
  { title: 'PORTS', text: definition => String(definition.port_template.length) },
  { title: 'MAXIMUM', text: longestOf },
  { title: 'TITLE', text: definition => definition.title },
  { title: 'AGE', text: definition => ageOf(definition.created_at, nowMs) },
]
