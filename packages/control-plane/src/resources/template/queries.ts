import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Api, Request } from '../../api-context.ts'
import { listPage } from '../list-documents.ts'
import { openSecret } from '../secret/secrets-and-licenses.ts'

export async function findTemplate(api: Api, name: string): Promise<WorkerTemplate | null> {
  const [template] = await api.templates.list({ where: { name }, limit: 1 })
  return template ?? null
}

export async function getTemplate(api: Api, name: string): Promise<WorkerTemplate> {
  const template = await findTemplate(api, name)
  if (template === null) throw new ProblemError('not_found', `there is no template ${name}`)
  return template
}

export const listTemplates = (api: Api, query: QueryOf<'listTemplates'>): Promise<AnswerOf<'listTemplates'>> =>
  listPage(api, api.templates, query, {})

/** For controllers only. */
export async function templateUserData(
  api: Api,
  { params, query }: Request<{ name: string }, QueryOf<'getTemplateUserData'>, unknown>,
): Promise<AnswerOf<'getTemplateUserData'>> {
  const { id, secret_refs } = await getTemplate(api, params.name)
  const { user_data, user_data_before } = secret_refs
  const ref = query.ref ?? user_data
  if (query.ref !== undefined && ref !== user_data && ref !== user_data_before)
    throw new ProblemError('not_found', `${params.name} keeps no user data ${query.ref} any more`)
  const place = { resource: `template:${id}`, purpose: 'user_data' } as const
  return { user_data: await openSecret(api, place, ref) }
}
