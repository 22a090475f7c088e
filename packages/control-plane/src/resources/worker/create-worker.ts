import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { type Worker, workerOfTemplate } from '@lcm/domain/worker/worker'
import type { Api, Request } from '../../api-context.ts'
import { newId } from '../ids.ts'
import { auditEntry, transitionEntry } from '../journal/entries.ts'
import { assignSeats } from '../license/assign-seats.ts'
import { withRef, withSecret } from '../secret/secrets-and-licenses.ts'
import { findTemplate } from '../template/queries.ts'

export async function createWorker(
  api: Api,
  request: Request<object, unknown, BodyOf<'createWorker'>>,
): Promise<Worker> {
  const { body, actor, once } = request
  const existing = once === null ? null : await api.workers.get(once.resourceId)
  if (existing !== null) return existing
  const template = await usableTemplate(api, body.template_name)
  const id = once?.resourceId ?? newWorkerId(api)
  const worker = describedBy(body, workerOfTemplate(id, template, toInstant(api.clock.now())), {
    aws_region: usableRegion(api, body.aws_region),
    desired_by: actor.name,
  })
  const token = body.license?.token
  if (token === undefined) return insertOnce(api, worker, request)
  const place = { resource: `worker:${id}`, purpose: 'license_token' } as const
  return withSecret(api, place, token, async ref => {
    const written = await insertOnce(api, withRef(worker, 'license_token', ref), request)
    // A second execution finds the worker with the token of the first, so its own is dropped.
    return { written, replaced: written.secret_refs.license_token === ref ? undefined : ref }
  })
}

export const newWorkerId = (api: Api): string => newId(api, 'w')

function describedBy(body: BodyOf<'createWorker'>, worker: Worker, more: Partial<Worker>): Worker {
  const { license } = body
  return {
    ...worker,
    ...more,
    name: body.name ?? worker.name,
    tags: body.tags ?? {},
    labels: body.labels ?? {},
    protected: body.protected ?? false,
    idle_detection_enabled: body.idle_detection_enabled ?? true,
    license: {
      ...worker.license,
      product: license?.product ?? worker.license.product,
      ...(license === undefined ? {} : licenseUse(license)),
    },
  }
}

/** A worker with a token of its own needs no seat of a pool. */
const licenseUse = ({ token }: NonNullable<BodyOf<'createWorker'>['license']>) =>
  token === undefined ? ({ seat: 'wanted' } as const) : ({ seat: 'none', pending_operation: 'register' } as const)

/** A second execution finds the worker of the first. */
async function insertOnce(
  api: Api,
  worker: Worker,
  { actor, once }: Request<object, unknown, unknown>,
): Promise<Worker> {
  const { name, template_name, aws_region } = worker
  const entries = [
    auditEntry(actor, 'create', worker.created_at, { after: { name, template_name, aws_region } }),
    ...worker.state_history.map(change => transitionEntry(change, actor.name)),
  ]
  const result = await api.workers.insert(worker, entries)
  if (result.ok)
    return (await assignSeats(api, worker.license.product)) ? ((await api.workers.get(worker.id)) ?? worker) : worker
  const existing = once === null ? null : await api.workers.get(worker.id)
  if (existing === null) throw new ProblemError('store_unavailable', 'the new id was taken; try again')
  return existing
}

export async function usableTemplate(api: Api, name: string): Promise<WorkerTemplate> {
  const template = await findTemplate(api, name)
  if (template === null) throw new ProblemError('template_not_found', `there is no template ${name}`)
  if (!template.enabled) throw new ProblemError('template_disabled', `template ${name} is disabled`)
  return template
}

export function usableRegion(api: Api, given: string | undefined): string {
  const { regions } = api.config
  const region = given ?? regions[0]
  if (regions.includes(region)) return region
  throw new ProblemError('region_not_configured', `region ${region} is not set up; use one of ${regions.join(', ')}`)
}
