import { createHash } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { ID_RANDOM_BYTES, makeId } from '@lcm/domain/id'
import { toInstant } from '@lcm/domain/instant'
import type { WorkerTemplate, WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Api, Request } from '../api.ts'
import { findTemplate, getTemplate } from '../queries/templates.ts'
import { allWorkers } from '../queries/workers.ts'
import { changeDocument, refuseStale } from './change.ts'
import { auditEntry } from './entries.ts'
import { keepSecret, openSecret } from './secrets.ts'

type CreateRequest = Request<object, unknown, BodyOf<'createTemplate'>>
type NamedRequest<B = unknown> = Request<{ name: string }, unknown, B>

export async function createTemplate(api: Api, { body, actor, once }: CreateRequest): Promise<WorkerTemplate> {
  const { user_data, ...spec } = body
  const id = once?.resourceId ?? makeId('wt', api.clock.now(), api.randomBytes(ID_RANDOM_BYTES))
  const template = newTemplate(api, spec, id)
  const wanted = { ...template, has_user_data: typeof user_data === 'string' }
  if (typeof user_data === 'string') await keepSecret(api, `template:${id}`, 'user_data', user_data)
  const result = await api.templates.insert(wanted, [auditEntry(actor, 'create', wanted.created_at, { after: spec })])
  if (result.ok) return wanted
  const existing = once === null ? null : await api.templates.get(id)
  if (existing !== null) return existing
  await keepSecret(api, `template:${id}`, 'user_data', null)
  throw new ProblemError('already_exists', `there is a template ${spec.name} already`)
}

function newTemplate(api: Api, spec: WorkerTemplateSpec, id: string): WorkerTemplate {
  const now = toInstant(api.clock.now())
  return { ...spec, id, version: 1, created_at: now, updated_at: now, has_user_data: false, seeded_from_sha256: null }
}

export async function putTemplate(api: Api, request: NamedRequest<BodyOf<'putTemplate'>>): Promise<WorkerTemplate> {
  const { user_data, ...spec } = request.body
  const current = await getTemplate(api, request.params.name)
  refuseStale(current, request.ifMatch)
  const resource = `template:${current.id}`
  const isOther = user_data !== undefined && user_data !== (await openSecret(api, resource, 'user_data'))
  if (isOther) await keepSecret(api, resource, 'user_data', user_data)
  const reason = isOther ? 'with other user data' : ''
  return changeTemplate(api, request, { action: 'put', reason }, template => ({
    ...template,
    ...spec,
    has_user_data: user_data === undefined ? template.has_user_data : user_data !== null,
  }))
}

export const switchTemplate = (api: Api, request: NamedRequest, enabled: boolean): Promise<WorkerTemplate> =>
  changeTemplate(api, request, { action: enabled ? 'enable' : 'disable', reason: '' }, template => ({
    ...template,
    enabled,
  }))

/** A reason to write is enough, also when what is shown of the template stays the same. */
async function changeTemplate(
  api: Api,
  request: NamedRequest,
  { action, reason }: { action: string; reason: string },
  change: (template: WorkerTemplate) => WorkerTemplate,
): Promise<WorkerTemplate> {
  const { id } = await getTemplate(api, request.params.name)
  const target = { collection: api.templates, id, noun: 'template' }
  return changeDocument(target, api.clock, request.ifMatch, (template, now) => {
    const document = change(template)
    if (reason === '' && JSON.stringify(document) === JSON.stringify(template)) return null
    return {
      document,
      entries: [auditEntry(request.actor, action, now, { before: template, after: document, reason })],
    }
  })
}

/** Workers that may still have to be launched need their template. */
export async function deleteTemplate(api: Api, request: NamedRequest): Promise<null> {
  const template = await getTemplate(api, request.params.name)
  refuseStale(template, request.ifMatch)
  const users = (await allWorkers(api, { template_name: template.name })).filter(each => each.status !== 'TERMINATED')
  if (users.length > 0) {
    const names = users
      .slice(0, 3)
      .map(each => each.name)
      .join(', ')
    throw new ProblemError(
      'template_in_use',
      `${users.length} workers were made from ${template.name}, such as ${names}`,
    )
  }
  const entry = auditEntry(request.actor, 'delete', toInstant(api.clock.now()), { before: { name: template.name } })
  if (!(await api.templates.remove(template, [entry])).ok)
    throw new ProblemError('version_mismatch', `${template.name} was changed meanwhile: read it again`)
  // Last, since a template that stays needs it.
  await keepSecret(api, `template:${template.id}`, 'user_data', null)
  return null
}

const SEEDING: Actor = { id: 'seeding', name: 'seeding', role: 'admin', service: null }

/**
 * Brings the templates of an installation's files into the store. A file that changed since it was last read wins; one that
 * did not leaves alone what people have changed since.
 */
export async function seedTemplates(api: Api, specs: readonly WorkerTemplateSpec[]): Promise<void> {
  for (const spec of specs) await seedTemplate(api, spec)
}

async function seedTemplate(api: Api, spec: WorkerTemplateSpec): Promise<void> {
  const seeded_from_sha256 = createHash('sha256').update(JSON.stringify(spec)).digest('hex')
  const existing = await findTemplate(api, spec.name)
  if (existing === null) {
    const id = makeId('wt', api.clock.now(), api.randomBytes(ID_RANDOM_BYTES))
    const template = { ...newTemplate(api, spec, id), seeded_from_sha256 }
    await api.templates.insert(template, [auditEntry(SEEDING, 'create', template.created_at, { after: spec })])
    return
  }
  const target = { collection: api.templates, id: existing.id, noun: 'template' }
  await changeDocument(target, api.clock, null, (template, now) => {
    if (template.seeded_from_sha256 === seeded_from_sha256) return null
    const document = { ...template, ...spec, seeded_from_sha256 }
    return { document, entries: [auditEntry(SEEDING, 'put', now, { before: template, after: document })] }
  })
}
