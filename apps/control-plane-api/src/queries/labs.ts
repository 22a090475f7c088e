import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { LabRecord } from '@lcm/domain/lablet/lab-record'
import type { Api } from '../api.ts'
import { pageOf } from './page.ts'

export async function findLab(api: Api, id: string): Promise<LabRecord> {
  const lab = await api.labs.get(id)
  if (lab === null) throw new ProblemError('not_found', `there is no lab ${id}`)
  return lab
}

export function listLabs(api: Api, query: QueryOf<'listLabs'>): Promise<AnswerOf<'listLabs'>> {
  const { worker_id, session_id, status, include_deleted } = query
  const given = Object.entries({ worker_id, session_id, status }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  )
  const isHidden = !include_deleted && status === undefined
  return pageOf(api, api.labs, query, {
    where: Object.fromEntries(given),
    ...(isHidden ? { whereNot: { status: 'DELETED' } } : {}),
  })
}

/** Of a lab that was found nobody knows what it was made from. */
export async function labTopology(api: Api, id: string): Promise<AnswerOf<'getLabTopology'>> {
  const { definition_id, title } = await findLab(api, id)
  const definition = definition_id === null ? null : await api.definitions.get(definition_id)
  if (definition === null || definition.topology === null)
    throw new ProblemError('not_found', `nobody knows what ${title} was made from`)
  return { topology: definition.topology }
}
