import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Instant } from '@lcm/domain/instant'
import { type Consequence, consequenceOf } from '@lcm/domain/worker/consequences'
import { type LaunchAttempt, type Worker, withChanges } from '@lcm/domain/worker/worker'
import type { NewEntry } from '@lcm/store/store'
import type { Api } from '../../http/api.ts'
import { decisionEntry, scalingEntry } from '../journal/entries.ts'
import { orphanLabs } from '../lab/orphan-labs.ts'
import { forgetLicenseToken, withRef } from '../secret/commands.ts'
import { currentSettings } from '../settings/queries.ts'
import { changeWorker, raiseDocumentFence, type WorkerRequest } from './change-worker.ts'
import { replaceLostWorker } from './replace-lost-worker.ts'

/** Controllers report what is, never what is wanted. An illegal move is refused here, at the write. */
export async function reportStatus(api: Api, request: WorkerRequest<BodyOf<'reportWorkerStatus'>>): Promise<Worker> {
  const { changes, decision } = request.body
  const settings = await currentSettings(api)
  // Where licences are released with every stop, the token is needed again after the next start.
  const isOver = changes.license?.pending_operation === null && settings.license_on_stop === 'keep'
  await replaceLostWorker(api, request)
  let token: string | undefined
  const reported = await changeWorker(api, request, (worker, now) => {
    refuseNewAttempt(worker, changes.launch)
    token = isOver ? worker.secret_refs.license_token : undefined
    const seen = { ...withChanges(worker, changes), fence: raiseDocumentFence(worker, request) }
    refuseForgetting(worker, seen)
    const followed = consequenceOf(worker, isOver ? withRef(seen, 'license_token', null) : seen, settings, now)
    if (followed === null)
      throw new ProblemError('illegal_transition', `sessions live on ${worker.name}, and its drain has time left`)
    const entries = [decided(request, now), ...scalingOf(worker, followed, now)]
    return { worker: followed.worker, entries, because: decision.because }
  })
  await forgetLicenseToken(api, reported.id, token)
  if (reported.status === 'TERMINATED') await orphanLabs(api, reported.id)
  return reported
}

const decided = (
  { actor, epoch, body }: WorkerRequest<{ decision: BodyOf<'reportWorkerStatus'>['decision'] }>,
  at: Instant,
) => decisionEntry(body.decision, { service: actor.service ?? '', epoch }, at)

/** A launch that the cloud took, and a drain that is over, are part of the fleet's own history. */
function scalingOf(before: Worker, { worker: after, outcome }: Consequence, now: Instant): NewEntry[] {
  if (outcome !== null) return [scalingEntry(outcome, now, { by: after.desired_by, because: after.desired_reason })]
  const launched = before.status === 'PENDING' && after.status === 'PROVISIONING'
  if (!launched) return []
  return [scalingEntry('provisioned', now, { instance_id: after.ec2_instance_id, attempt: after.launch?.n })]
}

/** A report says what became of the attempt. It makes none, forgets none, and opens none again. */
function refuseNewAttempt(worker: Worker, launch: Worker['launch'] | undefined): void {
  const last = worker.launch
  if (launch === undefined || (launch === null && last === null)) return
  if (launch === null) throw new ProblemError('illegal_transition', `attempt ${last?.n} of ${worker.name} was made`)
  if (last === null || !isSame(launch, last))
    throw new ProblemError('illegal_transition', `attempt ${launch.n} of ${worker.name} was never opened`)
  if (launch.state === 'open' && last.state !== 'open')
    throw new ProblemError('illegal_transition', `attempt ${launch.n} of ${worker.name} is closed`)
}

/** Whatever leads to a machine that is there, or may be, stays on record. */
function refuseForgetting(before: Worker, after: Worker): void {
  if (before.status === after.status) return
  if (after.status === 'PENDING' && after.ec2_instance_id !== null)
    throw new ProblemError(
      'illegal_transition',
      `${after.name} has ${after.ec2_instance_id}; a second one would follow`,
    )
  if (before.status === 'PENDING' && after.status === 'TERMINATED' && after.launch?.state === 'open')
    throw new ProblemError('illegal_transition', `attempt ${after.launch.n} of ${after.name} may still show a machine`)
}

function isSame(one: LaunchAttempt, other: LaunchAttempt): boolean {
  const fixed = ({ n, client_token, parameters, requested_at }: LaunchAttempt) =>
    JSON.stringify([n, client_token, parameters, requested_at])
  return fixed(one) === fixed(other)
}

/** One attempt is open at a time, and its number only grows: the token of a machine that may exist is never forgotten. */
export function openLaunchAttempt(api: Api, request: WorkerRequest<BodyOf<'openLaunchAttempt'>>): Promise<Worker> {
  const { attempt } = request.body
  return changeWorker(api, request, (worker, now) => {
    const last = worker.launch
    if (worker.status !== 'PENDING')
      throw new ProblemError(
        'illegal_transition',
        `${worker.name} is ${worker.status}; only PENDING workers are launched`,
      )
    if (last?.state === 'open')
      throw new ProblemError('illegal_transition', `attempt ${last.n} of ${worker.name} is still open`)
    if (attempt.state !== 'open' || attempt.n !== (last?.n ?? 0) + 1)
      throw new ProblemError(
        'illegal_transition',
        `the next attempt of ${worker.name} is ${(last?.n ?? 0) + 1}, and open`,
      )
    const changed = { ...worker, launch: attempt, fence: raiseDocumentFence(worker, request) }
    return { worker: changed, entries: [decided(request, now)] }
  })
}
