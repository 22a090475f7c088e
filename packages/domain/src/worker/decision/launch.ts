import { toMs } from '../../instant.ts'
import type { RegionConfig, WorkerTemplate } from '../../template/worker-template.ts'
import { withCondition, withoutCondition } from '../boot.ts'
import type { CmlAddress } from '../endpoint.ts'
import { factsOf, isDead } from '../facts.ts'
import { type Instance, type LaunchParameters, MANAGED_BY, TAG } from '../instance.ts'
import type { LaunchInputs, Observation, WorkerPolicy } from '../observation.ts'
import { CONDITION, isReservedTag, type LaunchAttempt, type Worker, type WorkerChanges } from '../worker.ts'
import { announce, type Decision, perform, retry, wait, write } from './decision.ts'
import { decideUnreadable } from './ec2-outage.ts'
import { failed } from './failure.ts'
import { hold } from './hold.ts'

/** PENDING: nothing is known to run. Exactly one machine comes of it, whatever crashes in between. */
export function decidePending(worker: Worker, seen: Observation, policy: WorkerPolicy, nowMs: number): Decision {
  const attempt = worker.launch
  const open = attempt?.state === 'open'
  if (open && seen.ec2.kind === 'instance') return adopt(worker, attempt, seen.ec2.instance, policy.cmlAddress)
  if (open && seen.ec2.kind === 'unknown') return decideUnreadable(worker, seen.ec2, nowMs)
  if (worker.desired_status !== 'RUNNING') return decideUnwanted(worker, seen, policy, nowMs)
  // It can't be repeated any more, or it would have been.
  if (open && seen.ec2.kind === 'absent' && seen.ec2.confirmed) return spend(attempt, 'nothing was ever launched')
  if (open) return perform({ kind: 'launch' }, `attempt ${attempt.n} is open and no machine of it is visible`)
  return decideNextAttempt(worker, seen.launch, policy, nowMs)
}

/**
 * The machine of an earlier try is there: take it rather than launch another. A machine that LCM may not have launched is not
 * trusted with secrets.
 */
function adopt(worker: Worker, attempt: LaunchAttempt, instance: Instance, by: CmlAddress): Decision {
  const { instance_id: id } = instance
  if (isDead(instance)) return spend(attempt, `${id} of attempt ${attempt.n} is ${instance.state}`)
  const changes = launchedChanges(worker, attempt, instance, by)
  const doubt = whyNotLaunched(attempt, instance)
  if (doubt === null) return announce(changes, `${id} carries the launch token of attempt ${attempt.n}`)
  return announce({ ...changes, launch: { ...attempt, state: 'adopted', error: doubt } }, doubt)
}

/** Anyone who may tag can write its tags. Anyone who may launch and who reads the open attempt can use its token. */
function whyNotLaunched({ n, client_token, parameters }: LaunchAttempt, instance: Instance): string | null {
  const { instance_id: id, image_id } = instance
  if (instance.client_token !== client_token)
    return `${id} is tagged as the machine of this worker, but does not carry the launch token of attempt ${n}`
  if (image_id === parameters.image_id) return null
  return `${id} carries the launch token of attempt ${n}, but runs ${image_id}, not ${parameters.image_id}: LCM did not launch it`
}

/** Closes an attempt whose machine is dead or never was. */
const spend = (attempt: LaunchAttempt, because: string): Decision =>
  announce({ launch: { ...attempt, state: 'spent', error: because } }, because)

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

/** The worker should no longer run: never launch, but wait until an open attempt is known to have left no machine. */
function decideUnwanted(worker: Worker, seen: Observation, policy: WorkerPolicy, nowMs: number): Decision {
  const attempt = worker.launch
  if (attempt?.state === 'open') {
    if (seen.ec2.kind === 'absent' && seen.ec2.confirmed)
      return spend(attempt, 'nothing was launched, and nobody wants it now')
    return wait(policy.lookAgainMsMax, `attempt ${attempt.n} may still show a machine`)
  }
  if (worker.desired_status === 'TERMINATED') return write({ status: 'TERMINATED' }, null, 'nothing was launched')
  return hold(worker, { type: CONDITION.held, reason: 'Stopped', message: 'start it to launch it' }, null, nowMs)
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
    return waitForRoom(worker, offers, pausedMs, { policy, nowMs })
  if (pausedMs > 0) return wait(pausedMs, `pausing before the next attempt: ${worker.launch?.error ?? 'it died'}`)
  if (offers.length === 0)
    return waitForInputs(worker, `no subnet is configured in ${worker.aws_region}`, policy, nowMs)
  const offer = nextOffer(offers, worker.launch, ready.scarce, nowMs)
  if (offer === null) {
    const freeAtMs = Math.min(...offers.map(each => ready.scarce.get(offerKey(each)) ?? nowMs))
    return waitForRoom(worker, offers, Math.max(policy.lookAgainMs, freeAtMs - nowMs), { policy, nowMs })
  }
  const parameters = render(worker, ready, { ...offer, fleet: policy.fleet })
  return perform({ kind: 'open_attempt', n, parameters }, `attempt ${n}: ${offer.instance_type} in ${offer.subnet_id}`)
}

interface ReadyInputs {
  readonly template: WorkerTemplate
  readonly region: RegionConfig
  readonly image: NonNullable<LaunchInputs['image']>
  readonly scarce: LaunchInputs['scarce']
}

function readyInputs(worker: Worker, inputs: LaunchInputs | null): ReadyInputs | { missing: string } {
  if (inputs?.template == null) return { missing: `template ${worker.template_name} does not exist` }
  if (!inputs.template.enabled) return { missing: `template ${worker.template_name} is disabled` }
  if (inputs.region === null) return { missing: `region ${worker.aws_region} is not configured` }
  if (inputs.image === null) {
    const { ami_name_pattern, ami_owner } = inputs.template
    return { missing: `no available image "${ami_name_pattern}" of owner ${ami_owner} in ${worker.aws_region}` }
  }
  return { template: inputs.template, region: inputs.region, image: inputs.image, scarce: inputs.scarce }
}

function waitForInputs(worker: Worker, missing: string, policy: WorkerPolicy, nowMs: number): Decision {
  const said = worker.conditions.find(each => each.type === CONDITION.blocked && each.reason === 'InputMissing')
  if (said === undefined || nowMs - toMs(said.since) < policy.inputsWaitMs) {
    // Its time begins with it, however long something else was waited for before.
    const conditions = said === undefined ? withoutCondition(worker.conditions, CONDITION.blocked) : worker.conditions
    return hold(
      { ...worker, conditions },
      { type: CONDITION.blocked, reason: 'InputMissing', message: missing },
      policy.lookAgainMsMax,
      nowMs,
    )
  }
  const conditions = withCondition(worker.conditions, failed('InputMissing', missing), nowMs)
  return write({ status: 'FAILED', conditions }, null, `gave up: ${missing}`)
}

/**
 * A machine that died at once may do so again: without a pause that would be an endless row of machines. Where there is only
 * one place to ask, one that refused is left alone for as long, whoever else remembers.
 */
function pauseAfter(last: LaunchAttempt | null, offers: number, policy: WorkerPolicy, nowMs: number): number {
  const needsPause = last?.state === 'spent' || (last?.state === 'refused' && offers === 1)
  return needsPause ? toMs(last.requested_at) + policy.capacityPauseMs - nowMs : 0
}

/** The best place that is not known to be full, and not the last one again unless there is no other. */
function nextOffer(
  offers: readonly Offer[],
  last: LaunchAttempt | null,
  scarce: LaunchInputs['scarce'],
  nowMs: number,
): Offer | null {
  const free = offers.filter(offer => (scarce.get(offerKey(offer)) ?? 0) <= nowMs)
  return free.find(offer => last === null || offerKey(offer) !== offerKey(last.parameters)) ?? free[0] ?? null
}

function waitForRoom(
  worker: Worker,
  offers: readonly Offer[],
  afterMs: number,
  { policy, nowMs }: { policy: WorkerPolicy; nowMs: number },
): Decision {
  const listed = (names: readonly string[]) => [...new Set(names)].join(', ')
  const where = `${listed(offers.map(each => each.instance_type))} in ${listed(offers.map(each => each.subnet_id))}`
  const message = `no room for ${where}; ${askedAgain(policy)}`
  return hold(worker, { type: CONDITION.blocked, reason: 'NoCapacity', message }, afterMs, nowMs)
}

const askedAgain = ({ capacityPauseMs }: WorkerPolicy): string =>
  `asked again every ${Math.round(capacityPauseMs / 60_000)} min`

/**
 * A stopped machine starts where its disk is or nowhere; for metal that may take hours, and it is nobody's fault. What AWS
 * refuses to the account may take as long, and whoever waits for the worker must know.
 */
export function judgeStart(
  worker: Worker,
  { errorClass, code, message: said }: Omit<Refusal, 'kind'>,
  { policy, nowMs }: { policy: WorkerPolicy; nowMs: number },
): Decision {
  if (errorClass !== 'capacity') {
    const refused = { type: CONDITION.blocked, reason: code, message: refusedAccount('start', said) }
    return hold(worker, refused, accountPauseMs(errorClass, policy), nowMs)
  }
  const where = worker.availability_zone ?? worker.aws_region
  const what = `${worker.instance_type ?? 'it'} in ${where}, where its disk is (${code})`
  const message = `no room to start ${what}; ${askedAgain(policy)}`
  return hold(worker, { type: CONDITION.blocked, reason: 'NoCapacity', message }, policy.capacityPauseMs, nowMs)
}

export const offerKey = (offer: { readonly instance_type: string; readonly subnet_id: string }): string =>
  `${offer.instance_type}/${offer.subnet_id}`

interface Offer {
  readonly instance_type: string
  readonly subnet_id: string
}

/** Every place a machine could be had, best first: the preferred type in every subnet before the next type. */
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

/** What the cloud made of a launch. Classes as in the cloud package's taxonomy. */
export type LaunchOutcome = { readonly kind: 'launched'; readonly instance: Instance } | Refusal

interface Refusal {
  readonly kind: 'refused'
  readonly errorClass: string
  readonly code: string
  readonly message: string
}

/** A refusal may end in a thousand characters for whoever has the right to decode them. */
const REFUSAL_CHARS_MAX = 300
const refusedAccount = (act: 'launch' | 'start', said: string): string =>
  `AWS refuses the ${act} to this account: ${said.slice(0, REFUSAL_CHARS_MAX)}`
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
      `launched ${outcome.instance.instance_id}`,
    )
  }
  const because = outcome.message
  switch (outcome.errorClass) {
    case 'capacity': {
      const { instance_type, subnet_id } = attempt.parameters
      const words = `no room for ${instance_type} in ${subnet_id} (${outcome.code})`
      return announce({ launch: { ...attempt, state: 'refused', error: because } }, words)
    }
    case 'attempt_spent':
      return spend(attempt, because)
    case 'attempt_mismatch':
      return wait(at.policy.lookAgainMs, because)
    case 'throttled':
      return wait(at.policy.lookAgainMs, because)
    case 'quota':
    case 'auth':
      return hold(
        worker,
        { type: CONDITION.blocked, reason: outcome.code, message: refusedAccount('launch', because) },
        accountPauseMs(outcome.errorClass, at.policy),
        at.nowMs,
      )
    case 'invalid':
      return write(
        {
          status: 'FAILED',
          launch: { ...attempt, state: 'refused', error: because },
          conditions: withCondition(worker.conditions, failed(outcome.code, because), at.nowMs),
        },
        null,
        because,
      )
    default:
      return retry(`not known whether it launched, so the same attempt is repeated: ${because}`)
  }
}
