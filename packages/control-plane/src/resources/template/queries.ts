import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Api, Request } from '../../api-context.ts'
import { narrowTemplate } from '../../narrow-view.ts'
import { seesAll } from '../../visibility.ts'
import { listPage } from '../list-documents.ts'
import type { SecretReads } from '../secret/secret-reads.ts'
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

const viewFor = (template: WorkerTemplate, actor: Actor) => (seesAll(actor) ? template : narrowTemplate(template))

export const readTemplate = async (api: Api, name: string, actor: Actor): Promise<WorkerTemplate> =>
  viewFor(await getTemplate(api, name), actor)

export async function listTemplates(
  api: Api,
  { query, actor }: Request<object, QueryOf<'listTemplates'>, unknown>,
): Promise<AnswerOf<'listTemplates'>> {
  const page = await listPage(api, api.templates, query, {})
  return { ...page, items: page.items.map(template => viewFor(template, actor)) }
}

/** For the worker-controller only. */
export async function templateUserData(
  api: Api,
  reads: SecretReads,
  { params, query, actor }: Request<{ name: string }, QueryOf<'getTemplateUserData'>, unknown>,
): Promise<AnswerOf<'getTemplateUserData'>> {
  const { id, secret_refs } = await getTemplate(api, params.name)
  const { user_data, user_data_before } = secret_refs
  const ref = query.ref ?? user_data
  if (query.ref !== undefined && ref !== user_data && ref !== user_data_before)
    throw new ProblemError('not_found', `${params.name} keeps no user data ${query.ref} any more`)
  const place = { resource: `template:${id}`, purpose: 'user_data' } as const
  const text = await openSecret(api, place, ref)
  await reads.record(actor, place.resource, { user_data: text })
  return { user_data: text }
}
