import { createHash } from 'node:crypto'
import { unlessMissing } from '@lcm/client/client'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { PowerAction } from '@lcm/cloud/compute'
import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError, isRateLimited, NotLeadingError } from '@lcm/cloud/errors'
import { assert } from '@lcm/domain/assert'
import { toInstant } from '@lcm/domain/instant'
import { endpointOf } from '@lcm/domain/worker/cml-endpoint'
import { type Decision, requeueAfterMs, type WorkerAction } from '@lcm/domain/worker/decision/decision'
import { judgePower } from '@lcm/domain/worker/decision/ec2-refusal'
import { judgeLaunch, type LaunchOutcome } from '@lcm/domain/worker/decision/launch'
import { judgeLicense } from '@lcm/domain/worker/decision/license-operation'
import type { LaunchParameters } from '@lcm/domain/worker/ec2-instance'
import type { WorkerPolicy } from '@lcm/domain/worker/observation'
import type { LaunchAttempt, Worker, WorkerChanges } from '@lcm/domain/worker/worker'
import { type ReconciliationResult, requeue, retry, success } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { changeLicense } from './cml-license.ts'
import type { CmlProbes } from './cml-probes.ts'
import type { WorkerControllerConfig } from './config.ts'
import { announceAttempt, type ReportParts, report, type WorkerReconcile } from './report.ts'
import type { WorkerMemory } from './term-memory.ts'

export interface PerformParts extends ReportParts {
  readonly machines: BatchedCompute
  readonly cml: CmlSystem
  readonly logins: CmlLoginResolver
  readonly clock: Clock
  readonly memory: WorkerMemory
  readonly probes: Pick<CmlProbes, 'request'>
  readonly config: Pick<WorkerControllerConfig, 'launchSecret'>
  /** The policy of the decision. */
  readonly policy: WorkerPolicy
}

/** Limit of the API for a reason; a CML error may be longer. */

/** Performs one decision: one effect, or one write. Throws an `isRateLimited` error when the rate limit does not allow it yet. */
export async function performDecision(
  parts: PerformParts,
  worker: Worker,
  decision: Decision,
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  const { action, because } = decision
  switch (action.kind) {
    case 'nothing':
      return success(because.message)
    case 'wait':
      return requeue(because.message, action.afterMs)
    case 'retry':
      return retryAfterWrite(parts, worker, { changes: action.changes, decision }, context)
    case 'write':
      return report(parts, worker, { changes: action.changes, afterMs: action.afterMs, decision }, context)
    case 'open_attempt': {
      const attempt = openAttempt(worker, action, { nowMs: parts.clock.now(), ...parts.config })
      const result = await announceAttempt(parts, worker, { attempt, decision }, context)
      parts.memory.launches.opened(worker.id, attempt.client_token)
      return result
    }
    case 'launch':
      return launchAndReport(parts, worker, context)
    case 'register_license':
    case 'deregister_license':
      return changeLicenseAndReport(parts, worker, action.kind, context)
    case 'record_leak':
      return recordLeak(parts, worker, { changes: action.changes, decision }, context)
    case 'stop_labs': {
      const body = { reason: because }
      await parts.client.call('stopWorkerLabs', {
        params: { id: worker.id },
        body,
        epoch: context.epoch,
        signal: context.signal,
      })
      return requeue(because.message, action.afterMs)
    }
    case 'survey':
      parts.memory.probes.requested(worker.id, parts.clock.monotonic())
      parts.probes.request(worker, context.epoch)
      return success(because.message)
    case 'tag':
      return tag(parts, worker, action, context)
    default:
      return change(parts, worker, action, context)
  }
}

/** The write must not end the backoff, as a success would. */
async function retryAfterWrite(
  parts: PerformParts,
  worker: Worker,
  { changes, decision }: { changes: WorkerChanges | null; decision: Decision },
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  if (changes === null) return retry(decision.because.message)
  const written = await report(parts, worker, { changes, afterMs: null, decision }, context)
  return written.status === 'SUCCESS' ? retry(decision.because.message) : written
}

async function launchAndReport(
  parts: PerformParts,
  worker: Worker,
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  assert(worker.launch, `${worker.id} has no attempt to launch`)
  const { user_data_ref: ref } = worker.launch.parameters
  const userData = ref === null ? null : await userDataOf(parts, worker, ref, context.signal)
  if (ref !== null && userData === null)
    return requeue(
      'the user data of this attempt is gone; the attempt ends once it is certain to have no machine',
      parts.policy.requeueMsMax,
    )
  const outcome = await launchOnce(parts, worker, userData, context)
  if (outcome.kind === 'refused' && outcome.errorClass === 'capacity')
    parts.memory.launches.refused(worker.aws_region, worker.launch, parts.clock.now())
  const at = { policy: parts.policy, nowMs: parts.clock.now() }
  return performDecision(parts, worker, judgeLaunch(worker, worker.launch, outcome, at), context)
}

async function launchOnce(
  { machines, memory }: PerformParts,
  worker: Worker,
  userData: string | null,
  context: WorkerReconcile,
): Promise<LaunchOutcome> {
  memory.observations.launchSent(worker.id)
  const wasUnsent = memory.launches.sending(worker.id)
  try {
    return await context.withoutSlot(() => launch(machines, worker, userData, context.signal))
  } catch (error) {
    // An attempt that was sent before may have a machine, although its retry was not sent.
    if (isRateLimited(error) && wasUnsent && worker.launch)
      memory.launches.opened(worker.id, worker.launch.client_token)
    throw error
  }
}

async function userDataOf(
  { client }: PerformParts,
  worker: Worker,
  ref: string,
  signal: AbortSignal,
): Promise<string | null> {
  const params = { name: worker.template_name }
  const found = await unlessMissing(client.call('getTemplateUserData', { params, query: { ref }, signal }))
  return found === null ? null : found.user_data
}

async function change(
  parts: PerformParts,
  worker: Worker,
  action: MachineAction,
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  try {
    const state = await context.withoutSlot(() => changeMachine(parts.machines, worker, action, context.signal))
    return requeue(`EC2 reports the instance as ${state}`, requeueAfterMs(worker, parts.policy, parts.clock.now()))
  } catch (error) {
    if (!(error instanceof CloudError) || isRateLimited(error)) throw error
    const at = { policy: parts.policy, nowMs: parts.clock.now() }
    const refused = judgePower(worker, action.kind, error, at)
    if (refused !== null) return performDecision(parts, worker, refused, context)
    const expected = ['throttled', 'state', 'capacity', 'not_found'].includes(error.errorClass)
    return expected ? requeue(error.message, parts.policy.requeueMsMax) : retry(error.message, error)
  }
}

/** A refusal is only reported: nothing waits for a tag, and its backoff grows. */
async function tag(
  { machines, memory, clock }: PerformParts,
  worker: Worker,
  { tags, afterMs }: Extract<Decision['action'], { kind: 'tag' }>,
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  const { aws_region: region, ec2_instance_id: id } = worker
  assert(id !== null, `${worker.id} has no machine to tag`)
  try {
    await context.withoutSlot(() => machines.tag(region, id, tags, context.signal))
    memory.tags.sent(worker, clock.monotonic())
    return requeue(`tag: ${JSON.stringify(tags)}`, afterMs)
  } catch (error) {
    if (!(error instanceof CloudError) || isRateLimited(error)) throw error
    memory.tags.sent(worker, clock.monotonic())
    return requeue(error.message, afterMs)
  }
}

async function changeLicenseAndReport(
  parts: PerformParts,
  worker: Worker,
  kind: 'register_license' | 'deregister_license',
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  // The present address: a machine that boots only to return its license has none on record.
  const instance = context.seen.ec2.kind === 'instance' ? context.seen.ec2.instance : null
  const url = instance && endpointOf(instance, parts.policy.cmlAddress)
  if (instance === null || url === null) return requeue('CML has no address yet', parts.policy.requeueMs)
  // The last check before a change that no compare-and-set guards.
  const permit = () => {
    if (!context.leadership.isHeld()) throw new NotLeadingError(`${kind} was not sent: this instance leads no longer`)
  }
  parts.memory.returnedLicenses.delete(worker.id)
  const outcome = await context.withoutSlot(() =>
    changeLicense(parts, worker, { act: kind, url, permit }, context.signal),
  )
  if (outcome.kind === 'returned') parts.memory.returnedLicenses.add(worker.id)
  const at = { policy: parts.policy, instance, nowMs: parts.clock.now() }
  return performDecision(parts, worker, judgeLicense(worker, outcome, at), context)
}

/** Reports the leak before the status is written: a leak that is reported twice counts once. */
async function recordLeak(
  parts: PerformParts,
  worker: Worker,
  { changes, decision }: { changes: WorkerChanges; decision: Decision },
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  const { udi, hostname, product } = worker.license
  const body = {
    worker_id: worker.id,
    udi,
    hostname,
    product,
    reason: decision.because,
  }
  await parts.client.call('reportLicenseLeak', { body, epoch: context.epoch, signal: context.signal })
  return report(parts, worker, { changes, afterMs: 0, decision }, context)
}

/** The attempt as it is stored before EC2 is called. Users who may launch machines can't compute its token. */
export function openAttempt(
  worker: Worker,
  { n, parameters }: { n: number; parameters: LaunchParameters },
  { nowMs, launchSecret }: { nowMs: number; launchSecret: string },
): LaunchAttempt {
  const { subnet_id, instance_type } = parameters
  const what = `${worker.id}|${n}|${subnet_id}|${instance_type}`
  const client_token = createHash('sha256').update(`${launchSecret}${what}`).digest('hex')
  return { n, client_token, parameters, requested_at: toInstant(nowMs), state: 'open', error: null }
}

/** Launches the machine of the open attempt. Every refusal of the cloud is an outcome. */
export async function launch(
  machines: BatchedCompute,
  worker: Worker,
  user_data: string | null,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const attempt = worker.launch
  assert(attempt?.state === 'open', `${worker.id} has no open attempt`)
  try {
    return { kind: 'launched', instance: await machines.launch(worker.aws_region, { ...attempt, user_data }, signal) }
  } catch (error) {
    if (!(error instanceof CloudError) || isRateLimited(error)) throw error
    const { errorClass, code } = error
    return { kind: 'refused', errorClass, code, message: error.message.slice(0, 1000) }
  }
}

export type MachineAction = Extract<WorkerAction, { kind: 'start' | 'stop' | 'terminate' }>

export function changeMachine(
  machines: BatchedCompute,
  worker: Worker,
  action: MachineAction,
  signal: AbortSignal,
): Promise<string> {
  const id = worker.ec2_instance_id
  assert(id !== null, `${worker.id} has no machine to ${action.kind}`)
  return machines.powerOne(worker.aws_region, actOf(action), id, signal)
}

const actOf = (action: MachineAction): PowerAction =>
  action.kind === 'stop' && action.force ? 'force_stop' : action.kind
