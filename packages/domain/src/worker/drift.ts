import { isMisnamed } from './decision/name-tag.ts'
import { tagDrift } from './decision/ownership.ts'
import { factsOf, isDead } from './facts.ts'
import type { Instance } from './instance.ts'
import { isTransitional, statusOfEc2State } from './lifecycle.ts'
import type { Observation, WorkerPolicy } from './observation.ts'
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

function isLicenseAstray({ license }: Worker, sight: Observation['license']): boolean {
  if (sight?.kind !== 'seen' || license.pending_operation !== null) return false
  return (license.status === 'REGISTERED') !== (sight.registration === 'COMPLETED')
}
