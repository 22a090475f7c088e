import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { type MeasuredDuration, measuredBoot } from '@lcm/domain/calendar/measured-duration'
import { type RegionFacts, withMachineFacts } from '@lcm/domain/fleet/machine-facts'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type Instant, toInstant } from '@lcm/domain/instant'
import type { DecisionNote } from '@lcm/domain/journal-records'
import { trustAfter } from '@lcm/domain/worker/instance-trust'
import { type Consequence, consequenceOf } from '@lcm/domain/worker/lifecycle'
import { type LaunchAttempt, type Worker, withChanges } from '@lcm/domain/worker/worker'
import type { NewEntry } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { decisionEntry, scalingEntry } from '../journal/entries.ts'
import { orphanLabs } from '../lab/mark-orphan-labs.ts'
import { forgetLicenseToken, withRef } from '../secret/secrets-and-licenses.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { currentSettings } from '../settings/queries.ts'
import { recordDuration } from '../timing/record-duration.ts'
import { changeWorker, type WorkerChange, type WorkerRequest } from './change-worker.ts'
import { isLost, replaceLostWorker } from './replace-lost-worker.ts'

type StatusRequest = WorkerRequest<BodyOf<'reportWorkerStatus'>>

/** A write to another resource that follows from a report. Each can be repeated without harm. */
type Effect =
  /** Before the commit: nothing reports a TERMINATED worker again, so a crash after the commit would cost the replacement. */
  | { readonly kind: 'replace-worker'; readonly phase: 'before'; readonly lost: Worker }
  /** After the commit: a token that a crash leaves is named by no document and removed with its worker. */
  | { readonly kind: 'drop-license-token'; readonly phase: 'after'; readonly ref: string }
  /** After the commit: housekeeping finds the labs of TERMINATED workers that a crash leaves. */
  | { readonly kind: 'orphan-labs'; readonly phase: 'after' }

interface Report {
  readonly document: WorkerChange
  readonly effects: readonly Effect[]
}

/** Controllers report what they observe, never what is desired. An illegal transition is refused here, at the write. */
export async function reportStatus(api: Api, request: StatusRequest): Promise<Worker> {
  const settings = await currentSettings(api)
  await prepare(api, request, settings)
  let effects: readonly Effect[] = []
  let boot: MeasuredDuration | null = null
  const reported = await changeWorker(api, request, (worker, now) => {
    const report = applyReport(worker, request, { settings, now, regionFacts: api.config.regionFacts })
    effects = report.effects
    boot = measuredBoot(worker, report.document.worker, now)
    return report.document
  })
  await perform(api, request, effects, 'after')
  await recordDuration(api, request, boot)
  return reported
}

/** Only the end of a worker has effects before its commit, so that other reports are spared the read. */
async function prepare(api: Api, request: StatusRequest, settings: SettingValues): Promise<void> {
  if (request.body.changes.status !== 'TERMINATED') return
  const worker = await api.workers.get(request.params.id)
  if (worker === null || worker.version !== request.ifMatch) return
  const now = toInstant(api.clock.now())
  const { effects } = applyReport(worker, request, { settings, now, regionFacts: api.config.regionFacts })
  await perform(api, request, effects, 'before')
}

/** Pure: the worker after the report, and what follows for other resources. Throws to refuse the report. */
export function applyReport(
  worker: Worker,
  request: Pick<StatusRequest, 'body' | 'actor' | 'fence' | 'epoch'>,
  { settings, now, regionFacts }: { settings: SettingValues; now: Instant; regionFacts: RegionFacts | undefined },
): Report {
  const { changes, decision } = request.body
  refuseNewAttempt(worker, changes.launch)
  const reported = withMachineFacts(trustAfter(worker, withChanges(worker, changes)), regionFacts)
  const seen = { ...reported, fence: raiseDocumentFence(worker, request) }
  refuseForgetting(worker, seen)
  // With `license_on_stop: release` the token is needed again after the next start.
  const isRegistered = changes.license?.pending_operation === null && settings.license_on_stop === 'keep'
  const after = isRegistered ? withRef(seen, 'license_token', null) : seen
  const consequence = consequenceOf(worker, after, settings, now)
  if (consequence === null)
    throw new ProblemError('illegal_transition', `sessions live on ${worker.name}, and its drain has time left`)
  const entries = [decided(request, now), ...scalingOf(worker, consequence, now)]
  return {
    document: { worker: consequence.worker, entries, because: decision.because },
    effects: effectsOf(worker, consequence.worker),
  }
}

function effectsOf(before: Worker, after: Worker): Effect[] {
  const ref = after.secret_refs.license_token === undefined ? before.secret_refs.license_token : undefined
  const isTerminated = after.status === 'TERMINATED'
  return [
    ...(isTerminated && isLost(before) ? [{ kind: 'replace-worker', phase: 'before', lost: before } as const] : []),
    ...(ref === undefined ? [] : [{ kind: 'drop-license-token', phase: 'after', ref } as const]),
    ...(isTerminated ? [{ kind: 'orphan-labs', phase: 'after' } as const] : []),
  ]
}

async function perform(
  api: Api,
  request: StatusRequest,
  effects: readonly Effect[],
  phase: Effect['phase'],
): Promise<void> {
  const { id } = request.params
  for (const effect of effects.filter(each => each.phase === phase)) {
    switch (effect.kind) {
      case 'replace-worker':
        await replaceLostWorker(api, request, effect.lost)
        break
      case 'drop-license-token':
        await forgetLicenseToken(api, id, effect.ref)
        break
      case 'orphan-labs':
        await orphanLabs(api, id)
        break
    }
  }
}

const decided = (
  { actor, epoch, body }: Pick<WorkerRequest<{ decision: DecisionNote }>, 'actor' | 'epoch' | 'body'>,
  at: Instant,
) => decisionEntry(body.decision, { service: actor.service ?? '', epoch }, at)

/** A launch that the cloud accepted, and a finished drain, belong to the scaling history. */
function scalingOf(before: Worker, { worker: after, outcome }: Consequence, now: Instant): NewEntry[] {
  if (outcome !== null) return [scalingEntry(outcome, now, { by: after.desired_by, because: after.desired_reason })]
  const launched = before.status === 'PENDING' && after.status === 'PROVISIONING'
  if (!launched) return []
  return [scalingEntry('provisioned', now, { instance_id: after.ec2_instance_id, attempt: after.launch?.n })]
}

/** A report updates the current attempt. It can't create, drop or reopen one. */
function refuseNewAttempt(worker: Worker, launch: Worker['launch'] | undefined): void {
  const last = worker.launch
  if (launch === undefined || (launch === null && last === null)) return
  if (launch === null) throw new ProblemError('illegal_transition', `attempt ${last?.n} of ${worker.name} was made`)
  if (last === null || !isSame(launch, last))
    throw new ProblemError('illegal_transition', `attempt ${launch.n} of ${worker.name} was never opened`)
  if (launch.state === 'open' && last.state !== 'open')
    throw new ProblemError('illegal_transition', `attempt ${launch.n} of ${worker.name} is closed`)
}

/** The link to a machine that exists, or may exist, stays on record. */
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

/** One attempt is open at a time, and numbers only grow: the token of a machine that may exist is never lost. */
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
    const launching = { ...worker, launch: attempt, fence: raiseDocumentFence(worker, request) }
    const changed = withMachineFacts(launching, api.config.regionFacts)
    return { worker: changed, entries: [decided(request, now)] }
  })
}
