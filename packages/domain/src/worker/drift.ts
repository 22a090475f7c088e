import { reason } from '../reason.ts'
import { factsOf, isDead } from './cml-endpoint.ts'
import { type Decision, perform, wait } from './decision/decision.ts'
import { tagDrift } from './decision/ownership.ts'
import { type Instance, TAG } from './ec2-instance.ts'
import { isTransitional, statusOfEc2State } from './lifecycle.ts'
import type { Observation, Seen, WorkerPolicy } from './observation.ts'
import type { Worker } from './worker.ts'

export const DRIFT_TYPES = ['state', 'address', 'type', 'absent', 'license', 'tags'] as const
export type DriftType = (typeof DRIFT_TYPES)[number]

/** How EC2 or CML differs from the record although LCM has not changed it; null when it does not. */
export function driftOf(worker: Worker, { ec2, license }: Observation, policy: WorkerPolicy): DriftType | null {
  if (worker.ec2_instance_id === null || worker.status === 'TERMINATED') return null
  const tags = ec2.kind === 'instance' && haveTagsDrifted(worker, ec2.instance, policy) ? 'tags' : null
  if (isTransitional(worker.status)) return tags
  if (ec2.kind === 'absent') return 'absent'
  if (ec2.kind === 'unknown') return null
  const { instance } = ec2
  if (worker.status !== 'FAILED' && statusOfEc2State(instance.state, true) !== worker.status) return 'state'
  const facts = factsOf(worker, instance, policy.cmlAddress)
  if ('instance_type' in facts) return 'type'
  if (worker.status === 'RUNNING' && ('public_ip' in facts || 'private_ip' in facts || 'https_endpoint' in facts))
    return 'address'
  return isLicenseAstray(worker, license) ? 'license' : tags
}

/** A terminating instance loses its tags by itself. */
const haveTagsDrifted = (worker: Worker, instance: Instance, policy: WorkerPolicy): boolean =>
  !isDead(instance) && (tagDrift(worker, instance, policy) !== null || isMisnamed(worker, instance, policy.fleet))

function isLicenseAstray({ license }: Worker, observed: Observation['license']): boolean {
  if (observed?.kind !== 'seen' || license.pending_operation !== null) return false
  return (license.status === 'REGISTERED') !== (observed.registration === 'COMPLETED')
}

/**
 * LCM owns the tag `Name` of a machine that it launched: it is the worker's name. A machine that was imported keeps the name that
 * its owner gave it, whatever the name of the worker.
 */
function isMisnamed(worker: Worker, instance: Instance, fleet: string): boolean {
  const isLaunchedByUs = worker.origin !== 'DISCOVERY' && worker.ec2_instance_id === instance.instance_id
  if (!isLaunchedByUs || instance.tags[TAG.fleet] !== fleet || isDead(instance)) return false
  return worker.desired_status !== 'TERMINATED' && instance.tags[TAG.name] !== worker.name
}

/** Sets the tag `Name` where nothing else is to be done now, so that an EC2 which refuses it holds up nothing. */
export function withNameTag({ worker, instance, policy, tagPauseMs }: Seen, decision: Decision): Decision {
  const { action, because } = decision
  if (action.kind !== 'nothing' && action.kind !== 'wait') return decision
  if (!isMisnamed(worker, instance, policy.fleet)) return decision
  const againMs = Math.min(action.kind === 'wait' ? action.afterMs : policy.requeueMsMax, policy.requeueMsMax)
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
