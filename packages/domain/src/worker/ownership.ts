import { withCondition, withoutCondition } from './boot.ts'
import { type Instance, TAG } from './instance.ts'
import type { Seen, WorkerPolicy } from './observation.ts'
import { CONDITION, type Condition, type Worker } from './worker.ts'

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
export function ownershipConditions({ worker, instance, policy, nowMs }: Seen): Condition[] | null {
  const message = messageOf(worker, instance, policy)
  const said = worker.conditions.find(each => each.type === CONDITION.tagsChanged)
  if (message === null) return said === undefined ? null : withoutCondition(worker.conditions, CONDITION.tagsChanged)
  if (said?.message === message) return null
  const condition = { type: CONDITION.tagsChanged, status: true, reason: 'TagsChanged', message }
  return withCondition(worker.conditions, condition, nowMs)
}

function messageOf(worker: Worker, instance: Instance, policy: WorkerPolicy): string | null {
  if (isForeign(instance, policy)) return `its machine is marked as of fleet ${instance.tags[TAG.fleet]}`
  if (isOurs(worker, instance, policy)) return null
  return `its machine lost the tag ${TAG.fleet}=${policy.fleet}; put it back to have LCM terminate it`
}
