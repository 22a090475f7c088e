import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Person } from '@lcm/domain/person'
import type { Api } from '../../api-context.ts'
import { listPage } from '../list-documents.ts'

export const listPeople = (api: Api, query: QueryOf<'listPeople'>): Promise<AnswerOf<'listPeople'>> =>
  listPage(api, api.people, query, {})

export async function getPerson(api: Api, id: string): Promise<Person> {
  const person = await api.people.get(id)
  if (person === null) throw new ProblemError('not_found', `there is no person ${id}`)
  return person
}
