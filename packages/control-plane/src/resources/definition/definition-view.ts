import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { StoredDefinition } from '../../internal-documents.ts'

/** A definition without its internal fields. */
export function definitionView({ given: _, fence: __, ...definition }: StoredDefinition): LabletDefinition {
  return definition
}

export function definitionSummary(definition: StoredDefinition): Omit<LabletDefinition, 'topology'> {
  const { topology: _, ...summary } = definitionView(definition)
  return summary
}
