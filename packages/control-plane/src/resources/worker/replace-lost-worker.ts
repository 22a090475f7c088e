import { createHash } from 'node:crypto'
import type { BodyOf } from '@lcm/contract/routes'
import { toInstant, toMs } from '@lcm/domain/instant'
import { type Worker, workerOfTemplate } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { ID_RANDOM_BYTES, makeId } from '../ids.ts'
import { auditEntry, scalingEntry, transitionEntry } from '../journal/entries.ts'
import { findTemplate } from '../template/queries.ts'
import type { WorkerRequest } from './change-worker.ts'

/**
 * Creates another worker in place of one whose machine is lost, where the template says `replace_lost`. Its id is derived from
 * the id of the lost worker, so that a repeated request creates it once.
 */
export async function replaceLostWorker(
  api: Api,
  { actor, body: { decision } }: WorkerRequest<BodyOf<'reportWorkerStatus'>>,
  lost: Worker,
): Promise<void> {
  const template = await findTemplate(api, lost.template_name)
  if (template === null || !template.enabled || !template.replace_lost) return
  const now = toInstant(api.clock.now())
  const worker: Worker = {
    ...workerOfTemplate(replacementId(lost), template, now),
    name: lost.name,
    aws_region: lost.aws_region,
    tags: lost.tags,
    labels: lost.labels,
    idle_detection_enabled: lost.idle_detection_enabled,
    origin: lost.origin === 'DISCOVERY' ? 'USER' : lost.origin,
    desired_by: 'replace_lost',
    desired_reason: `in place of ${lost.id}`,
  }
  await api.workers.insert(worker, [
    auditEntry(actor, 'replace', now, { after: { replaces: lost.id }, reason: decision.because.message }),
    ...worker.state_history.map(change => transitionEntry(change, actor.name)),
    scalingEntry('scale_up_accepted', now, { replaces: lost.id, because: decision.because }),
  ])
}

/** Desired RUNNING, had a machine, and its end was not requested. A drain requests it, although RUNNING is desired until it is empty. */
export const isLost = (worker: Worker): boolean =>
  worker.desired_status === 'RUNNING' &&
  worker.drain === null &&
  worker.ec2_instance_id !== null &&
  worker.status !== 'TERMINATED'

function replacementId(lost: Worker): string {
  const digest = createHash('sha256').update(`replaces ${lost.id}`).digest()
  return makeId('w', toMs(lost.created_at), digest.subarray(0, ID_RANDOM_BYTES))
}
