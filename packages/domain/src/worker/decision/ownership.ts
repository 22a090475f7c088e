import { toMs } from '../../instant.ts'
import { holds, withCondition, withoutCondition } from '../boot.ts'
import { whyTagIsIgnored } from '../endpoint.ts'
import { type Instance, TAG } from '../instance.ts'
import type { Seen, WorkerPolicy } from '../observation.ts'
import { CONDITION, type Condition, type Worker } from '../worker.ts'

/** Another fleet's machine is never touched, whatever the record says. */
export const isForeign = ({ tags }: Instance, { fleet }: WorkerPolicy): boolean =>
  tags[TAG.fleet] !== undefined && tags[TAG.fleet] !== fleet

/** Only what carries our mark may be destroyed: our fleet's, or, if it was found, the one that it was found by. */
export function isOurs(worker: Worker, instance: Instance, policy: WorkerPolicy): boolean {
  const { discoveryTag } = policy
  if (instance.tags[TAG.fleet] === policy.fleet) return true
  if (worker.origin !== 'DISCOVERY' || isForeign(instance, policy) || discoveryTag === null) return false
  return instance.tags[discoveryTag.key] === discoveryTag.value
}

/** The conditions with what is to be said of the machine's marks; null when that is said already. */
export function ownershipConditions(seen: Seen): Condition[] | null {
  const { conditions } = seen.worker
  const next = pointed(seen, settled(seen, marked(seen, conditions)))
  return next === conditions ? null : [...next]
}

function marked({ worker, instance, policy, nowMs }: Seen, conditions: readonly Condition[]): readonly Condition[] {
  const message = tagDrift(worker, instance, policy)
  const said = conditions.find(each => each.type === CONDITION.tagsChanged)
  if (message === null) return said === undefined ? conditions : withoutCondition(conditions, CONDITION.tagsChanged)
  if (said?.message === message) return conditions
  const condition = { type: CONDITION.tagsChanged, status: true, reason: 'TagsChanged', message }
  return withCondition(conditions, condition, nowMs)
}

/** It was left alone, and need not be any longer. The condition stays, since it tells from when on time counts. */
function settled({ worker, instance, policy, nowMs }: Seen, conditions: readonly Condition[]): readonly Condition[] {
  const isStillLeftAlone = worker.desired_status === 'TERMINATED' && !isOurs(worker, instance, policy)
  if (isStillLeftAlone || !holds(conditions, CONDITION.notOurs)) return conditions
  const message = `${instance.instance_id} may be changed by this fleet again`
  return withCondition(conditions, { type: CONDITION.notOurs, status: false, reason: 'Ours', message }, nowMs)
}

/** Whether its endpoint tag counts. Only a running machine has all its addresses. */
function pointed({ instance, nowMs }: Seen, conditions: readonly Condition[]): readonly Condition[] {
  if (instance.state !== 'running') return conditions
  const type = CONDITION.endpointIgnored
  const said = conditions.find(each => each.type === type)
  const why = whyTagIsIgnored(instance)
  if (why === null) return said === undefined ? conditions : withoutCondition(conditions, type)
  const message = `the tag ${TAG.endpoint}=${instance.tags[TAG.endpoint]} is ignored: ${why}. Correct or remove it`
  if (said?.message === message) return conditions
  return withCondition(conditions, { type, status: true, reason: 'NotItsOwn', message }, nowMs)
}

/** For how long it has been ours to act in this status: while its machine was left alone nothing could be late. */
export function oursForMs({ entered_status_at, conditions }: Worker, nowMs: number): number {
  const settledAt = conditions.find(each => each.type === CONDITION.notOurs && !each.status)?.since
  return nowMs - Math.max(toMs(entered_status_at), settledAt === undefined ? 0 : toMs(settledAt))
}

/** The drift of the machine's tags; null when they are as LCM needs them. */
export function tagDrift(worker: Worker, instance: Instance, policy: WorkerPolicy): string | null {
  if (isForeign(instance, policy)) return `its machine is marked as of fleet ${instance.tags[TAG.fleet]}`
  if (isOurs(worker, instance, policy)) return null
  return `its machine lost the tag ${TAG.fleet}=${policy.fleet}; put it back to have LCM terminate it`
}
