import { toMs } from '../../instant.ts'
import { type Reason, reason, sameReason } from '../../reason.ts'
import { whyTagIsIgnored } from '../cml-endpoint.ts'
import { type Instance, TAG } from '../ec2-instance.ts'
import type { Seen, WorkerPolicy } from '../observation.ts'
import { CONDITION, type Condition, holds, type Worker, withCondition, withoutCondition } from '../worker.ts'

/** Another fleet's machine is never touched, whatever the record says. */
export const isForeign = ({ tags }: Instance, { fleet }: WorkerPolicy): boolean =>
  tags[TAG.fleet] !== undefined && tags[TAG.fleet] !== fleet

/** Only a machine with our tag may be terminated: that of our fleet, or the discovery tag of an imported machine. */
export function isOurs(worker: Worker, instance: Instance, policy: WorkerPolicy): boolean {
  const { discoveryTag } = policy
  if (instance.tags[TAG.fleet] === policy.fleet) return true
  if (worker.origin !== 'DISCOVERY' || isForeign(instance, policy) || discoveryTag === null) return false
  return instance.tags[discoveryTag.key] === discoveryTag.value
}

/** The conditions about the tags of the instance; null when they are up to date. */
export function ownershipConditions(seen: Seen): Condition[] | null {
  const { conditions } = seen.worker
  const next = pointed(seen, settled(seen, marked(seen, conditions)))
  return next === conditions ? null : [...next]
}

function marked({ worker, instance, policy, nowMs }: Seen, conditions: readonly Condition[]): readonly Condition[] {
  const drift = tagDrift(worker, instance, policy)
  const known = conditions.find(each => each.type === CONDITION.tagsChanged)
  if (drift === null) return known === undefined ? conditions : withoutCondition(conditions, CONDITION.tagsChanged)
  if (known !== undefined && sameReason(known.reason, drift)) return conditions
  return withCondition(conditions, { type: CONDITION.tagsChanged, status: true, reason: drift }, nowMs)
}

/** LCM may change the instance again. The condition stays, since timeouts count from its `since`. */
function settled({ worker, instance, policy, nowMs }: Seen, conditions: readonly Condition[]): readonly Condition[] {
  const isStillLeftAlone = worker.desired_status === 'TERMINATED' && !isOurs(worker, instance, policy)
  if (isStillLeftAlone || !holds(conditions, CONDITION.notOurs)) return conditions
  const restored = reason('ownership_restored', { instance_id: instance.instance_id })
  return withCondition(conditions, { type: CONDITION.notOurs, status: false, reason: restored }, nowMs)
}

/** Whether its endpoint tag counts. Only a running machine has all its addresses. */
function pointed({ instance, nowMs }: Seen, conditions: readonly Condition[]): readonly Condition[] {
  if (instance.state !== 'running') return conditions
  const type = CONDITION.endpointIgnored
  const known = conditions.find(each => each.type === type)
  const cause = whyTagIsIgnored(instance)
  if (cause === null) return known === undefined ? conditions : withoutCondition(conditions, type)
  const value = instance.tags[TAG.endpoint] ?? ''
  const ignored = reason('endpoint_tag_ignored', { tag: TAG.endpoint, value, cause })
  if (known !== undefined && sameReason(known.reason, ignored)) return conditions
  return withCondition(conditions, { type, status: true, reason: ignored }, nowMs)
}

/** How long LCM could act in this status: time in which it may not touch the machine does not count. */
export function oursForMs({ entered_status_at, conditions }: Worker, nowMs: number): number {
  const settledAt = conditions.find(each => each.type === CONDITION.notOurs && !each.status)?.since
  return nowMs - Math.max(toMs(entered_status_at), settledAt === undefined ? 0 : toMs(settledAt))
}

/** The drift of the machine's tags; null when they are as LCM needs them. */
export function tagDrift(worker: Worker, instance: Instance, policy: WorkerPolicy): Reason | null {
  if (isForeign(instance, policy)) return reason('fleet_tag_foreign', { fleet: instance.tags[TAG.fleet] ?? '' })
  if (isOurs(worker, instance, policy)) return null
  return reason('fleet_tag_missing', { tag: TAG.fleet, value: policy.fleet })
}
