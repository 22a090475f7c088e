import type { LabGraph } from '@lcm/contract/definition'
import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { compareVersions } from '@lcm/domain/session/placement'
import type { Api, Request } from '../../api-context.ts'
import type { StoredDefinition } from '../../internal-documents.ts'
import { definitionFor, readsTopologies } from '../../narrow-view.ts'
import { listAll, listPage } from '../list-documents.ts'
import { givenOf } from './definition-content.ts'
import { definitionSummary, definitionView } from './definition-view.ts'
import { warningsOf } from './definition-warnings.ts'
import { deprecateReplaced } from './deprecate-replaced-versions.ts'

export async function findDefinition(api: Api, id: string): Promise<StoredDefinition> {
  const definition = await api.definitions.get(id)
  if (definition === null) throw new ProblemError('not_found', `there is no definition ${id}`)
  return definition
}

/** Finishes an interrupted change of versions before it reads. */
export async function getDefinition(
  api: Api,
  { id, actor }: { readonly id: string; readonly actor: Actor },
  graphOf: (definition: LabletDefinition) => Promise<LabGraph | null>,
): Promise<AnswerOf<'getDefinition'>> {
  const found = await findDefinition(api, id)
  if (found.status === 'ACTIVE') await deprecateReplaced(api, found.name)
  const stored = await findDefinition(api, id)
  const definition = definitionView(stored)
  const warnings = readsTopologies(actor) ? await warningsOf(api, definition) : []
  const view = { ...definition, warnings, given: givenOf(stored), graph: await graphOf(definition) }
  return definitionFor(actor, view)
}

export async function listDefinitions(
  api: Api,
  { query, actor }: Request<object, QueryOf<'listDefinitions'>, unknown>,
): Promise<AnswerOf<'listDefinitions'>> {
  const { name, status, q } = query
  const where = { ...(name === undefined ? {} : { name }), ...(status === undefined ? {} : { status }) }
  const page = await listPage(api, api.definitions, query, {
    where,
    ...(q === undefined ? {} : { contains: { name: q } }),
  })
  return { ...page, items: page.items.map(each => definitionFor(actor, definitionSummary(each))) }
}

export const versionsOf = (api: Api, name: string): Promise<StoredDefinition[]> =>
  listAll(api.definitions, { where: { name } })

/** Newest version first. */
export const newestFirst = (definitions: readonly StoredDefinition[]): StoredDefinition[] =>
  definitions.toSorted((a, b) => compareVersions(b.definition_version, a.definition_version))
