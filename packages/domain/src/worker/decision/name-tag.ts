import { reason } from '../../reason.ts'
import { isDead } from '../facts.ts'
import { type Instance, TAG } from '../instance.ts'
import type { Seen } from '../observation.ts'
import type { Worker } from '../worker.ts'
import { type Decision, perform, wait } from './decision.ts'

/**
 * LCM owns the tag `Name` of a machine that it launched: it is the worker's name. A machine that was imported keeps the name that
 * its owner gave it, whatever the worker is called.
 */
export function isMisnamed(worker: Worker, instance: Instance, fleet: string): boolean {
  const isLaunchedByUs = worker.origin !== 'DISCOVERY' && worker.ec2_instance_id === instance.instance_id
  if (!isLaunchedByUs || instance.tags[TAG.fleet] !== fleet || isDead(instance)) return false
  return worker.desired_status !== 'TERMINATED' && instance.tags[TAG.name] !== worker.name
}

/** Sets the tag `Name` where nothing else is to be done now, so that an EC2 which refuses it holds up nothing. */
export function withNameTag({ worker, instance, policy, tagPauseMs }: Seen, decision: Decision): Decision {
  const { action, because } = decision
  if (action.kind !== 'nothing' && action.kind !== 'wait') return decision
  if (!isMisnamed(worker, instance, policy.fleet)) return decision
  const againMs = Math.min(action.kind === 'wait' ? action.afterMs : policy.lookAgainMsMax, policy.lookAgainMsMax)
  if (tagPauseMs === 0) {
    const tags = { [TAG.name]: worker.name }
    return perform(
      { kind: 'tag', tags, afterMs: againMs },
      reason('name_tag_differs', { tag: TAG.name, name: worker.name }),
    )
  }
  const afterMs = action.kind === 'wait' ? Math.min(action.afterMs, tagPauseMs) : tagPauseMs
  return wait(afterMs, reason('name_tag_retry', { tag: TAG.name, cause: because }), decision.guards)
}
