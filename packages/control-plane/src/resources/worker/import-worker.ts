import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { withMachineFacts } from '@lcm/domain/fleet/machine-facts'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { closeCost } from '@lcm/domain/worker/cost'
import { autoApproval } from '@lcm/domain/worker/instance-trust'
import { blankWorker, type Worker } from '@lcm/domain/worker/worker'
import { NOT_NEEDED, UNSEEN_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import type { Api, Request } from '../../api-context.ts'
import { auditEntry, transitionEntry } from '../journal/entries.ts'
import { currentSettings } from '../settings/queries.ts'
import { audited } from './approve-worker.ts'
import { newWorkerId, usableRegion } from './create-worker.ts'

/** More than the records of one machine. */
const LIST_MAX = 100

type ImportRequest = Request<object, unknown, BodyOf<'importWorker'>>

/** Records a discovered machine once, however often it is reported. */
export async function importWorker(api: Api, request: ImportRequest): Promise<{ worker: Worker; isNew: boolean }> {
  usableRegion(api, request.body.aws_region)
  const { auto_approve } = await currentSettings(api)
  const worker = imported(api, request, auto_approve)
  const { ec2_instance_id, approval, created_at } = worker
  const entries = [
    auditEntry(request.actor, 'import', created_at, { after: { ec2_instance_id } }),
    ...(approval.state === 'approved'
      ? [auditEntry(request.actor, 'approve', created_at, { after: audited(approval), reason: 'auto_approve' })]
      : []),
    ...worker.state_history.map(change => transitionEntry(change, request.actor.name)),
  ]
  const result = await api.workers.insert(worker, entries)
  if (result.ok) return { worker, isNew: true }
  const recorded = await api.workers.list({ where: { ec2_instance_id: request.body.ec2_instance_id }, limit: LIST_MAX })
  const known = recorded.find(each => each.status !== 'TERMINATED')
  if (known === undefined) throw new ProblemError('store_unavailable', 'the machine is being recorded; try again')
  return { worker: known, isNew: false }
}

/** Its desired status is its current one: discovery must not change a machine. */
function imported(api: Api, { body, actor, fence }: ImportRequest, autoApprove: string): Worker {
  const now = toInstant(api.clock.now())
  const { cml_version, certificate_sha256, launch_template_id, cost_per_hour_usd: _, status, ...facts } = body
  const blank = blankWorker(newWorkerId(api), now)
  const recorded: Worker = {
    ...blank,
    ...facts,
    origin: 'DISCOVERY',
    status,
    desired_status: status === 'STOPPED' ? 'STOPPED' : 'RUNNING',
    desired_by: actor.name,
    desired_reason: 'found in the cloud',
    state_history: [{ from: null, to: status, at: now, because: reason('discovered') }],
    approval: autoApproval(autoApprove, body, now) ?? { ...NOT_NEEDED, state: 'required' },
    cml: { ...blank.cml, version: cml_version, seen_certificate_sha256: certificate_sha256 },
    license: UNSEEN_LICENSE,
    fence: actor.service === null || fence === null ? {} : { [actor.service]: fence },
  }
  const worker = withMachineFacts(recorded, api.config.regionFacts)
  // A running machine costs money from its discovery on.
  return { ...worker, billing: closeCost(blank, worker, now)?.billing ?? blank.billing }
}
