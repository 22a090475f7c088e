import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { ID_RANDOM_BYTES, makeId } from '@lcm/domain/id'
import { toInstant } from '@lcm/domain/instant'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { isReservedTag, type Worker } from '@lcm/domain/worker/worker'
import type { Api, Request } from '../api.ts'
import { findTemplate } from '../queries/templates.ts'

export async function createWorker(
  api: Api,
  request: Request<object, undefined, BodyOf<'createWorker'>>,
): Promise<Worker> {
  const { body, actor } = request
  const template = await usableTemplate(api, body.template_name)
  const region = body.aws_region ?? api.config.regions[0]
  refuseRegion(api, region)
  refuseTags(body.tags ?? {})
  const id = makeId('w', api.clock.now(), api.randomBytes(ID_RANDOM_BYTES))
  const worker: Worker = {
    ...newWorker(id, template, toInstant(api.clock.now())),
    name: body.name ?? `${template.name}-${id.slice(-4)}`,
    aws_region: region,
    tags: body.tags ?? {},
    protected: body.protected ?? false,
    desired_by: actor.name,
  }
  const result = await api.workers.insert(worker)
  if (!result.ok) throw new ProblemError('store_unavailable', 'the new id was taken; try again')
  return worker
}

async function usableTemplate(api: Api, name: string): Promise<WorkerTemplate> {
  const template = await findTemplate(api, name)
  if (template === null) {
    throw new ProblemError('template_not_found', `there is no template ${name}`)
  }
  if (!template.enabled) throw new ProblemError('template_disabled', `template ${name} is disabled`)
  return template
}

function refuseRegion(api: Api, region: string): void {
  const { regions } = api.config
  if (!regions.includes(region)) {
    throw new ProblemError('region_not_configured', `region ${region} is not set up; use one of ${regions.join(', ')}`)
  }
}

function refuseTags(tags: Record<string, string>): void {
  const errors = Object.keys(tags)
    .filter(isReservedTag)
    .map(key => ({ path: `tags.${key}`, message: 'names that begin with aws: or lcm: are reserved' }))
  if (errors.length > 0) throw new ProblemError('validation_failed', 'some tags are reserved', errors)
}

const newWorker = (id: string, template: WorkerTemplate, now: string): Worker => ({
  id,
  version: 1,
  created_at: now,
  updated_at: now,
  name: id,
  origin: 'USER',
  template_name: template.name,
  aws_region: '',
  tags: {},
  protected: false,
  desired_status: 'RUNNING',
  desired_by: '',
  desired_reason: 'created',
  status: 'PENDING',
  entered_status_at: now,
  service_status: 'UNAVAILABLE',
  conditions: [],
  launch: null,
  ec2_instance_id: null,
  instance_type: null,
  ami_id: null,
  availability_zone: null,
  public_ip: null,
  private_ip: null,
  https_endpoint: null,
  cml: { version: null, certificate_sha256: null },
  cost_per_hour_usd: template.cost_per_hour_usd,
  state_history: [{ from: null, to: 'PENDING', at: now, because: 'created' }],
  fence: {},
})
