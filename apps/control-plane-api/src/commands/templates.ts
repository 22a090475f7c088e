import { ProblemError } from '@lcm/contract/problems'
import { ID_RANDOM_BYTES, makeId } from '@lcm/domain/id'
import { toInstant } from '@lcm/domain/instant'
import type { WorkerTemplate, WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Api } from '../api.ts'
import { findTemplate } from '../queries/templates.ts'

export async function createTemplate(api: Api, spec: WorkerTemplateSpec): Promise<WorkerTemplate> {
  const now = toInstant(api.clock.now())
  const id = makeId('wt', api.clock.now(), api.randomBytes(ID_RANDOM_BYTES))
  const template: WorkerTemplate = { ...spec, id, version: 1, created_at: now, updated_at: now }
  const result = await api.templates.insert(template)
  if (!result.ok) throw new ProblemError('already_exists', `there is a template ${spec.name} already`)
  return template
}

/** Brings the templates that ship with an installation into the store; what people changed since is theirs and stays. */
export async function seedTemplates(api: Api, specs: readonly WorkerTemplateSpec[]): Promise<void> {
  for (const spec of specs) if ((await findTemplate(api, spec.name)) === null) await createTemplate(api, spec)
}
