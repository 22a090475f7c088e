import { createHash } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import type { WorkerTemplate, WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument, refuseStale } from '../change-document.ts'
import { newId } from '../ids.ts'
import { auditEntry } from '../journal/entries.ts'
import { dropSecret, forgetSecrets, openSecret, withRef, withSecret } from '../secret/secrets-and-licenses.ts'
import { forgetBoots } from '../timing/forget-timings.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { findTemplate, getTemplate } from './queries.ts'

type CreateRequest = Request<object, unknown, BodyOf<'createTemplate'>>
type NamedRequest<B = unknown> = Request<{ name: string }, unknown, B>

export async function createTemplate(api: Api, { body, actor, once }: CreateRequest): Promise<WorkerTemplate> {
  const { user_data, ...spec } = body
  const id = once?.resourceId ?? newId(api, 'wt')
  const template = newTemplate(api, spec, id)
  const insert = async (wanted: WorkerTemplate): Promise<WorkerTemplate> => {
    const result = await api.templates.insert(wanted, [auditEntry(actor, 'create', wanted.created_at, { after: spec })])
    const existing = result.ok ? wanted : once === null ? null : await api.templates.get(id)
    if (existing === null) throw new ProblemError('already_exists', `there is a template ${spec.name} already`)
    return existing
  }
  if (typeof user_data !== 'string') return insert(template)
  return withSecret(api, userDataOf(id), user_data, async ref => {
    const written = await insert({ ...withRef(template, 'user_data', ref), has_user_data: true })
    return { written, replaced: written.secret_refs.user_data === ref ? undefined : ref }
  })
}

const userDataOf = (id: string) => ({ resource: `template:${id}`, purpose: 'user_data' }) as const

function newTemplate(api: Api, spec: WorkerTemplateSpec, id: string): WorkerTemplate {
  const now = toInstant(api.clock.now())
  const stamps = { id, version: 1, created_at: now, updated_at: now }
  return { ...spec, ...stamps, has_user_data: false, secret_refs: {}, seeded_from_sha256: null }
}

/** Missing user data stays; null removes it. */
export async function putTemplate(api: Api, request: NamedRequest<BodyOf<'putTemplate'>>): Promise<WorkerTemplate> {
  const { user_data, ...spec } = request.body
  const current = await getTemplate(api, request.params.name)
  refuseStale(current, request.ifMatch)
  if (spec.instance_types.join() !== current.instance_types.join()) await forgetBoots(api, current.name)
  const place = userDataOf(current.id)
  const known = await openSecret(api, place, current.secret_refs.user_data)
  const put = async (ref: string | null | undefined) => {
    /** A launch in progress may still need the last user data; the one before that is dropped. */
    let refs: WorkerTemplate['secret_refs'] = {}
    const what = { action: 'put', reason: ref === undefined ? '' : 'with other user data' }
    const written = await changeTemplate(api, request, what, template => {
      const changed = { ...template, ...spec }
      if (ref === undefined) return changed
      refs = template.secret_refs
      const before = ref === null ? null : (refs.user_data ?? null)
      const kept = withRef(changed, 'user_data_before', before)
      return { ...withRef(kept, 'user_data', ref), has_user_data: ref !== null }
    })
    return { written, replaced: refs.user_data_before, last: refs.user_data }
  }
  if (user_data === undefined || user_data === known) return (await put(undefined)).written
  if (user_data !== null) return withSecret(api, place, user_data, put)
  const { written, replaced, last } = await put(null)
  // Removal deletes both versions. User data that a concurrent request stores is kept.
  for (const ref of [last, replaced]) await dropSecret(api, place, ref)
  return written
}

export const switchTemplate = (api: Api, request: NamedRequest, enabled: boolean): Promise<WorkerTemplate> =>
  changeTemplate(api, request, { action: enabled ? 'enable' : 'disable', reason: '' }, template => ({
    ...template,
    enabled,
  }))

/** Writes when there is a reason, even when the visible template stays the same. */
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
      entries: [auditEntry(request.actor, action, now, { before: shown(template), after: shown(document), reason })],
    }
  })
}

/** Secret references are internal. */
const shown = ({ secret_refs: _, ...template }: WorkerTemplate) => template

/** Workers that may still be launched need their template. */
export async function deleteTemplate(api: Api, request: NamedRequest): Promise<null> {
  const template = await getTemplate(api, request.params.name)
  refuseStale(template, request.ifMatch)
  const users = (await listAllWorkers(api, { template_name: template.name })).filter(
    each => each.status !== 'TERMINATED',
  )
  if (users.length > 0) {
    const names = users
      .slice(0, 3)
      .map(each => each.name)
      .join(', ')
    const made = `made from ${template.name}`
    const detail =
      users.length === 1 ? `1 worker was ${made}: ${names}` : `${users.length} workers were ${made}, such as ${names}`
    throw new ProblemError('template_in_use', detail)
  }
  const entry = auditEntry(request.actor, 'delete', toInstant(api.clock.now()), { before: { name: template.name } })
  if (!(await api.templates.remove(template, [entry])).ok)
    throw new ProblemError('version_mismatch', `${template.name} was changed meanwhile: read it again`)
  // Last, because a template that stays needs its secrets.
  await forgetSecrets(api, `template:${template.id}`)
  return null
}

const SEEDING: Actor = { id: 'seeding', name: 'seeding', role: 'admin', service: null }

/**
 * Imports the template files of an installation. A file that changed since the last import wins; an unchanged one keeps later
 * edits.
 */
export async function seedTemplates(api: Api, specs: readonly WorkerTemplateSpec[]): Promise<void> {
  for (const spec of specs) await seedTemplate(api, spec)
}

async function seedTemplate(api: Api, spec: WorkerTemplateSpec): Promise<void> {
  const seeded_from_sha256 = createHash('sha256').update(JSON.stringify(spec)).digest('hex')
  const existing = await findTemplate(api, spec.name)
  if (existing === null) {
    const id = newId(api, 'wt')
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
