import { pageHash, type Query } from '../../state/router.ts'
import { DEFINITION_STATES, type DefinitionGroup, type DefinitionState } from './definition-groups.ts'

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
