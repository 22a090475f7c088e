import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { compareVersions } from '@lcm/domain/session/placement'

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
