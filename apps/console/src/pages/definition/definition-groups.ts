import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { compareVersions } from '@lcm/domain/session/placement'
import { pageHash, type Query } from '../../state/router.ts'

/** As in lists: without the topology. */
export type Definition = Omit<LabletDefinition, 'topology'>
export type DefinitionState = LabletDefinition['status']
export const DEFINITION_STATES = ['ACTIVE', 'PENDING_SYNC', 'DEPRECATED'] as const satisfies readonly DefinitionState[]

export interface DefinitionGroup {
  readonly name: string
  /** Newest version that can be booked, else the newest. */
  readonly current: Definition
  /** Newest first, without the current one. */
  readonly others: readonly Definition[]
}

export const newestFirst = (versions: readonly Definition[]): Definition[] =>
  versions.toSorted((a, b) => compareVersions(b.definition_version, a.definition_version))

export function groupsOf(definitions: Iterable<Definition>): DefinitionGroup[] {
  const byName = new Map<string, Definition[]>()
  for (const definition of definitions) {
    const versions = byName.get(definition.name) ?? []
    versions.push(definition)
    byName.set(definition.name, versions)
  }
  return [...byName]
    .flatMap(([name, versions]) => groupOf(name, newestFirst(versions)))
    .toSorted((a, b) => a.name.localeCompare(b.name))
}

function groupOf(name: string, versions: readonly Definition[]): DefinitionGroup[] {
  const current = versions.find(({ status }) => status === 'ACTIVE') ?? versions[0]
  return current === undefined ? [] : [{ name, current, others: versions.filter(each => each !== current) }]
}

export interface DefinitionFilter {
  readonly text: string
  readonly status: DefinitionState | null
}

export const NO_FILTER: DefinitionFilter = { text: '', status: null }

export const filterOf = (query: Query): DefinitionFilter => ({
  text: query.q ?? '',
  status: DEFINITION_STATES.find(status => status === query.status) ?? null,
})

export const definitionsHash = ({ text, status }: DefinitionFilter): string =>
  pageHash('definitions', { q: text, status: status ?? '' })

/** Searches name, title, description and node types. */
export function matches({ current, others }: DefinitionGroup, { text, status }: DefinitionFilter): boolean {
  const isOfStatus = status === null || [current, ...others].some(each => each.status === status)
  const wanted = text.trim().toLowerCase()
  const { name, title, description, node_definitions_required } = current
  return (
    isOfStatus && [name, title, description, ...node_definitions_required].join('\n').toLowerCase().includes(wanted)
  )
}
