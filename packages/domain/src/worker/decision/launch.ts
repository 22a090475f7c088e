import { toMs } from '../../instant.ts'
import { type Reason, type ReasonCode, reason } from '../../reason.ts'
import type { RegionConfig, WorkerTemplate } from '../../template/worker-template.ts'
import { type CmlAddress, factsOf, isDead } from '../cml-endpoint.ts'
import { type Instance, type LaunchParameters, MANAGED_BY, TAG } from '../ec2-instance.ts'
import type { LaunchInputs, Observation, WorkerPolicy } from '../observation.ts'
import {
  CONDITION,
  isReservedTag,
  type LaunchAttempt,
  type Worker,
  type WorkerChanges,
  withCondition,
  withoutCondition,
} from '../worker.ts'
import { announce, type Decision, hold, perform, retry, wait, write } from './decision.ts'
import { decideUnreadable } from './ec2-outage.ts'
import { failed } from './failure.ts'

/** PENDING: no instance is known. Exactly one is launched, whatever crashes in between. */
export function decidePending(worker: Worker, seen: Observation, policy: WorkerPolicy, nowMs: number): Decision {
  const attempt = worker.launch
  const open = attempt?.state === 'open'
  if (open && seen.ec2.kind === 'instance') return adopt(worker, attempt, seen.ec2.instance, policy.cmlAddress)
  if (open && seen.ec2.kind === 'unknown') return decideUnreadable(worker, seen.ec2, nowMs)
  if (worker.desired_status !== 'RUNNING') return decideUnwanted(worker, seen, policy, nowMs)
  // It can't be repeated any more, or it would have been.
  if (open && seen.ec2.kind === 'absent' && seen.ec2.confirmed) return spend(attempt, reason('nothing_launched'))
  if (open) return perform({ kind: 'launch' }, reason('launch_attempt_open', { attempt: attempt.n }))
  return decideNextAttempt(worker, seen.launch, policy, nowMs)
}

/**
 * The instance of an earlier attempt exists: adopt it rather than launch another. An instance that LCM may not have launched is
 * not trusted with secrets.
 */
function adopt(worker: Worker, attempt: LaunchAttempt, instance: Instance, by: CmlAddress): Decision {
  const { instance_id, state } = instance
  if (isDead(instance)) return spend(attempt, reason('launch_attempt_died', { instance_id, attempt: attempt.n, state }))
  const changes = launchedChanges(worker, attempt, instance, by)
  const doubt = whyNotLaunched(attempt, instance)
  if (doubt === null) return announce(changes, reason('launch_token_found', { instance_id, attempt: attempt.n }))
  return announce({ ...changes, launch: { ...attempt, state: 'adopted', error: doubt.message } }, doubt)
}

/** Anyone who may tag can write its tags. Anyone who may launch and who reads the open attempt can use its token. */
function whyNotLaunched({ n, client_token, parameters }: LaunchAttempt, instance: Instance): Reason | null {
  const { instance_id, image_id } = instance
  const about = { instance_id, attempt: n }
  if (instance.client_token !== client_token) return reason('launch_token_missing', about)
  if (image_id === parameters.image_id) return null
  return reason('launch_image_differs', { ...about, image_id, expected_image_id: parameters.image_id })
}

/** Closes an attempt whose instance is gone or never existed. */
const spend = (attempt: LaunchAttempt, because: Reason, error = because.message): Decision =>
  announce({ launch: { ...attempt, state: 'spent', error } }, because)

export const launchedChanges = (
  worker: Worker,
  attempt: LaunchAttempt,
  instance: Instance,
  by: CmlAddress,
): WorkerChanges => ({
  ...factsOf(worker, instance, by),
  status: 'PROVISIONING',
  ec2_instance_id: instance.instance_id,
  launch: { ...attempt, state: 'launched', error: null },
  conditions: withoutCondition(withoutCondition(worker.conditions, CONDITION.held), CONDITION.blocked),
})

/** The worker should no longer run: never launch, but wait until an open attempt is known to have left no instance. */
function decideUnwanted(worker: Worker, seen: Observation, policy: WorkerPolicy, nowMs: number): Decision {
  const attempt = worker.launch
  if (attempt?.state === 'open') {
    if (seen.ec2.kind === 'absent' && seen.ec2.confirmed) return spend(attempt, reason('nothing_launched'))
    return wait(policy.requeueMsMax, reason('launch_attempt_unresolved', { attempt: attempt.n }))
  }
  if (worker.desired_status === 'TERMINATED') return write({ status: 'TERMINATED' }, null, reason('nothing_launched'))
  return hold(worker, { type: CONDITION.held, reason: reason('stopped_before_launch') }, null, nowMs)
}

function decideNextAttempt(worker: Worker, inputs: LaunchInputs | null, policy: WorkerPolicy, nowMs: number): Decision {
  if (inputs?.problem != null) {
    // What blocked it before is judged again once EC2 answers, and its time begins with that.
    const conditions = withoutCondition(worker.conditions, CONDITION.blocked)
    return decideUnreadable({ ...worker, conditions }, inputs.problem, nowMs)
  }
  const ready = readyInputs(worker, inputs)
  if ('missing' in ready) return waitForInputs(worker, ready.missing, policy, nowMs)
  const n = (worker.launch?.n ?? 0) + 1
  const offers = offeringsOf(ready.template, ready.region, worker.aws_region)
  const pausedMs = pauseAfter(worker.launch, offers.length, policy, nowMs)
  if (pausedMs > 0 && worker.launch?.state === 'refused')
    return waitForCapacity(worker, offers, pausedMs, { policy, nowMs })
  if (pausedMs > 0) return wait(pausedMs, reason('launch_paused', { attempt: n, error: worker.launch?.error ?? null }))
  if (offers.length === 0)
    return waitForInputs(worker, reason('subnet_not_configured', { region: worker.aws_region }), policy, nowMs)
  const offer = nextOffer(offers, worker.launch, ready.scarce, nowMs)
  if (offer === null) {
    const freeAtMs = Math.min(...offers.map(each => ready.scarce.get(offerKey(each)) ?? nowMs))
    return waitForCapacity(worker, offers, Math.max(policy.requeueMs, freeAtMs - nowMs), { policy, nowMs })
  }
  const parameters = render(worker, ready, { ...offer, fleet: policy.fleet })
  return perform({ kind: 'open_attempt', n, parameters }, reason('launch_attempt', { attempt: n, ...offer }))
}

interface ReadyInputs {
  readonly template: WorkerTemplate
  readonly region: RegionConfig
  readonly image: NonNullable<LaunchInputs['image']>
  readonly scarce: LaunchInputs['scarce']
}

function readyInputs(worker: Worker, inputs: LaunchInputs | null): ReadyInputs | { missing: Reason } {
  const { template_name: template, aws_region: region } = worker
  if (inputs?.template == null) return { missing: reason('template_not_found', { template }) }
  if (!inputs.template.enabled) return { missing: reason('template_disabled', { template }) }
  if (inputs.region === null) return { missing: reason('region_not_configured', { region }) }
  if (inputs.image === null) {
    const { ami_name_pattern: pattern, ami_owner: owner } = inputs.template
    return { missing: reason('image_not_found', { pattern, owner, region }) }
  }
  return { template: inputs.template, region: inputs.region, image: inputs.image, scarce: inputs.scarce }
}

function waitForInputs(worker: Worker, cause: Reason, policy: WorkerPolicy, nowMs: number): Decision {
  const because = reason('launch_input_missing', { cause })
  const known = worker.conditions.find(
    each => each.type === CONDITION.blocked && each.reason.code === ('launch_input_missing' satisfies ReasonCode),
  )
  if (known === undefined || nowMs - toMs(known.since) < policy.inputsWaitMs) {
    // The timeout starts with this condition, however long the worker waited for something else before.
    const conditions = known === undefined ? withoutCondition(worker.conditions, CONDITION.blocked) : worker.conditions
    return hold({ ...worker, conditions }, { type: CONDITION.blocked, reason: because }, policy.requeueMsMax, nowMs)
  }
  const conditions = withCondition(worker.conditions, failed(because), nowMs)
  return write({ status: 'FAILED', conditions }, null, reason('launch_input_timeout', { cause }))
}

/**
 * An instance that died at once may do so again: without a pause LCM would launch one after the other. Where there is only
 * one offer, a refused one is paused for as long, even if this leader does not remember the refusal.
 */
function pauseAfter(last: LaunchAttempt | null, offers: number, policy: WorkerPolicy, nowMs: number): number {
  const needsPause = last?.state === 'spent' || (last?.state === 'refused' && offers === 1)
  return needsPause ? toMs(last.requested_at) + policy.capacityPauseMs - nowMs : 0
}

/** The best offer that is not known to lack capacity, and not the last one again unless there is no other. */
function nextOffer(
  offers: readonly Offer[],
  last: LaunchAttempt | null,
  scarce: LaunchInputs['scarce'],
  nowMs: number,
): Offer | null {
  const free = offers.filter(offer => (scarce.get(offerKey(offer)) ?? 0) <= nowMs)
  return free.find(offer => last === null || offerKey(offer) !== offerKey(last.parameters)) ?? free[0] ?? null
}

function waitForCapacity(
  worker: Worker,
  offers: readonly Offer[],
  afterMs: number,
  { policy, nowMs }: { policy: WorkerPolicy; nowMs: number },
): Decision {
  const because = reason('ec2_no_capacity', {
    action: 'launch',
    instance_types: [...new Set(offers.map(each => each.instance_type))],
    locations: [...new Set(offers.map(each => each.subnet_id))],
    aws_code: null,
    retry_minutes: retryMinutes(policy),
  })
  return hold(worker, { type: CONDITION.blocked, reason: because }, afterMs, nowMs)
}

const retryMinutes = ({ capacityPauseMs }: WorkerPolicy): number => Math.round(capacityPauseMs / 60_000)

/**
 * A stopped instance can start only where its disk is; for metal it may wait hours for capacity. What AWS denies to the account
 * may take as long, so both are conditions.
 */
export function judgeStart(
  worker: Worker,
  { errorClass, code, message }: Omit<Refusal, 'kind'>,
  { policy, nowMs }: { policy: WorkerPolicy; nowMs: number },
): Decision {
  if (errorClass !== 'capacity') {
    const denied = { type: CONDITION.blocked, reason: deniedBy(worker, 'start', { errorClass, code, message }) }
    return hold(worker, denied, accountPauseMs(errorClass, policy), nowMs)
  }
  const because = reason('ec2_no_capacity', {
    action: 'start',
    instance_types: [worker.instance_type ?? 'the instance'],
    locations: [worker.availability_zone ?? worker.aws_region],
    aws_code: code,
    retry_minutes: retryMinutes(policy),
  })
  return hold(worker, { type: CONDITION.blocked, reason: because }, policy.capacityPauseMs, nowMs)
}

export const offerKey = (offer: { readonly instance_type: string; readonly subnet_id: string }): string =>
  `${offer.instance_type}/${offer.subnet_id}`

interface Offer {
  readonly instance_type: string
  readonly subnet_id: string
}

/** Every combination to try, best first: the preferred type in every subnet before the next type. */
function offeringsOf(template: WorkerTemplate, region: RegionConfig, regionName: string): Offer[] {
  const subnets = template.subnets[regionName] ?? region.subnets
  return template.instance_types.flatMap(instance_type => subnets.map(subnet_id => ({ instance_type, subnet_id })))
}

function render(
  worker: Worker,
  inputs: ReadyInputs,
  { instance_type, subnet_id, fleet }: Offer & { fleet: string },
): LaunchParameters {
  const { template, region } = inputs
  return {
    instance_type,
    subnet_id,
    associate_public_ip: template.associate_public_ip,
    image_id: inputs.image.image_id,
    root_device: inputs.image.root_device,
    security_group_ids: region.security_group_ids,
    key_name: region.key_name,
    root_volume_gb: template.root_volume_gb,
    volume_encrypted: template.volume_encrypted,
    iam_instance_profile: template.iam_instance_profile,
    nested_virtualization: template.nested_virtualization,
    user_data_ref: template.secret_refs.user_data ?? null,
    tags: tagsOf(worker, region, fleet),
  }
}

function tagsOf(worker: Worker, region: RegionConfig, fleet: string): Record<string, string> {
  const own = Object.entries({ ...region.default_tags, ...worker.tags }).filter(([key]) => !isReservedTag(key))
  return {
    ...Object.fromEntries(own),
    [TAG.name]: worker.name,
    [TAG.discovery]: 'true',
    [TAG.workerId]: worker.id,
    [TAG.templateName]: worker.template_name,
    [TAG.managedBy]: MANAGED_BY,
    [TAG.fleet]: fleet,
  }
}

/** The outcome of a launch. Classes as in the cloud package's taxonomy. */
export type LaunchOutcome = { readonly kind: 'launched'; readonly instance: Instance } | Refusal

interface Refusal {
  readonly kind: 'refused'
  readonly errorClass: string
  readonly code: string
  readonly message: string
}

/** A refusal may end in a thousand characters of an encoded authorization message. */
const REFUSAL_CHARS_MAX = 300
/** AWS words and encodes every refusal differently; action and AWS error code tell whether it is still the known one. */
function deniedBy(
  { conditions }: Worker,
  action: 'launch' | 'start',
  { errorClass: error_class, code: aws_code, message }: Omit<Refusal, 'kind'>,
): Reason {
  const error = message.slice(0, REFUSAL_CHARS_MAX)
  const because = reason('aws_denies', { action, error_class, aws_code, error })
  const known = conditions.find(each => each.type === CONDITION.blocked && each.status)?.reason
  const isSame = known?.code === because.code && known.params.action === action && known.params.aws_code === aws_code
  return isSame ? known : because
}
const accountPauseMs = (errorClass: string, { quotaPauseMs, authPauseMs }: WorkerPolicy): number =>
  errorClass === 'quota' ? quotaPauseMs : authPauseMs

/** What to write after a launch was tried. The attempt stays open while it may have had an effect. */
export function judgeLaunch(
  worker: Worker,
  attempt: LaunchAttempt,
  outcome: LaunchOutcome,
  at: { policy: WorkerPolicy; nowMs: number },
): Decision {
  if (outcome.kind === 'launched') {
    return announce(
      launchedChanges(worker, attempt, outcome.instance, at.policy.cmlAddress),
      reason('instance_launched', { instance_id: outcome.instance.instance_id }),
    )
  }
  const { code: aws_code, message: error } = outcome
  const about = { attempt: attempt.n, error }
  switch (outcome.errorClass) {
    case 'capacity':
      return announce({ launch: { ...attempt, state: 'refused', error } }, noCapacityFor(attempt, aws_code))
    case 'attempt_spent':
      return spend(attempt, reason('launch_attempt_spent', about), error)
    case 'attempt_mismatch':
      return wait(at.policy.requeueMs, reason('launch_attempt_mismatch', about))
    case 'throttled':
      return wait(at.policy.requeueMs, reason('launch_throttled', about))
    case 'quota':
    case 'auth':
      return hold(
        worker,
        { type: CONDITION.blocked, reason: deniedBy(worker, 'launch', outcome) },
        accountPauseMs(outcome.errorClass, at.policy),
        at.nowMs,
      )
    case 'invalid': {
      const because = reason('launch_invalid', { aws_code, error })
      const conditions = withCondition(worker.conditions, failed(because), at.nowMs)
      return write({ status: 'FAILED', launch: { ...attempt, state: 'refused', error }, conditions }, null, because)
    }
    default:
      return retry(reason('launch_outcome_unknown', about))
  }
}

const noCapacityFor = ({ parameters }: LaunchAttempt, aws_code: string): Reason =>
  reason('ec2_no_capacity', {
    action: 'launch',
    instance_types: [parameters.instance_type],
    locations: [parameters.subnet_id],
    aws_code,
    retry_minutes: null,
  })
