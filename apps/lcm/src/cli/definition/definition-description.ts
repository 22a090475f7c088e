import type { Lead } from '@lcm/domain/calendar/timings'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { PortWish } from '@lcm/domain/lab/ports'
import { leadText } from '@lcm/domain/text/lead-text'
import { type Fact, factLines, section, tableOf } from '../terminal/description-sections.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { type Column, printable } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'
import { longestOf, needsOf, type Warned } from './definition-view.ts'

interface Described {
  readonly definition: LabletDefinition & Warned
  /** How long before its slot its lab starts. */
  readonly lead: Lead
}

/** The complete description of a definition, without its topology. */
export function describeDefinition(described: Described, nowMs: number, colors: Colors): string[] {
  const { definition } = described
  return [
    `${colors.bold(`${definition.name} ${definition.definition_version}`)}  ${definition.id}`,
    ...factLines(factsOf(described, nowMs, colors), colors),
    ...section('Access', tableOf(PORT_COLUMNS, definition.port_template), colors),
  ]
}

const factsOf = ({ definition, lead }: Described, nowMs: number, colors: Colors): readonly Fact[] => [
  ['status', statusColor(definition.status, colors)(definition.status)],
  ...definition.warnings.map(({ message }): Fact => ['warning', printable(message)]),
  ['title', printable(definition.title)],
  ['about', printable(definition.description)],
  ['needs', `${needsOf(definition)}, ${definition.needs.storage_gb} GB disk`],
  ['nodes', printable(definition.node_definitions_required.join(', '))],
  ['license', printable(definition.license_affinity.join(' or '))],
  ['cml', releasesOf(definition)],
  ['maximum', longestOf(definition)],
  ['starts', leadText(lead)],
  ['reuse', definition.lab_reuse && !definition.saves_enabled ? 'labs are wiped and reused for later sessions' : null],
  ['saves', definition.saves_enabled ? null : 'off: the work in its labs is not saved'],
  ['source', printable(definition.source)],
  ['sync', syncOf(definition, nowMs)],
  ['topology', topologyOf(definition)],
  ['replaces', definition.replaces],
  ['created', printable(`${ageOf(definition.created_at, nowMs)} ago by ${definition.created_by}`)],
  ['version', String(definition.version)],
]

function releasesOf({ cml_version: { min, max } }: LabletDefinition): string | null {
  if (min === null) return max === null ? null : `${max} or older`
  return max === null ? `${min} or newer` : `${min} to ${max}`
}

function syncOf({ sync }: LabletDefinition, nowMs: number): string | null {
  if (sync.status === 'none') return null
  const when = sync.at === null ? '' : ` ${ageOf(sync.at, nowMs)} ago`
  return printable(`${sync.status}${when}${sync.error === null ? '' : `: ${sync.error}`}`)
}

function topologyOf({ id, topology, topology_sha256 }: LabletDefinition): string {
  if (topology_sha256 === null && topology === null) return 'not fetched yet'
  const sha256 = `sha256 ${topology_sha256?.slice(0, 12) ?? 'unknown'}`
  if (topology === null) return `${sha256}; only authors and operators can see it`
  return `${sha256}; show it with \`lcm get definition ${id} -o yaml\``
}

const PORT_COLUMNS: readonly Column<PortWish>[] = [
  { title: 'NAME', text: port => port.name },
  { title: 'NODE', text: port => port.node },
  { title: 'PROTOCOL', text: port => port.protocol },
  { title: 'NODE PORT', text: port => (port.inside === null ? '' : String(port.inside)) },
]
