import { factsOf } from './facts.ts'
import { isTransitional, statusOfEc2State } from './lifecycle.ts'
import type { Observation, WorkerPolicy } from './observation.ts'
import type { Worker } from './worker.ts'

export const DRIFT_TYPES = ['state', 'address', 'type', 'absent', 'licence'] as const
export type DriftType = (typeof DRIFT_TYPES)[number]

/** In what the world differs from the record although nobody here has changed it; null when it does not. */
export function driftOf(worker: Worker, { ec2, license }: Observation, policy: WorkerPolicy): DriftType | null {
  if (worker.ec2_instance_id === null || isTransitional(worker.status) || worker.status === 'TERMINATED') return null
  if (ec2.kind === 'absent') return 'absent'
  if (ec2.kind === 'unknown') return null
  const { instance } = ec2
  if (worker.status !== 'FAILED' && statusOfEc2State(instance.state, true) !== worker.status) return 'state'
  const facts = factsOf(worker, instance, policy.cmlAddress)
  if ('instance_type' in facts) return 'type'
  if (worker.status === 'RUNNING' && ('public_ip' in facts || 'private_ip' in facts || 'https_endpoint' in facts))
    return 'address'
  return isLicenceAstray(worker, license) ? 'licence' : null
}

function isLicenceAstray({ license }: Worker, sight: Observation['license']): boolean {
  if (sight?.kind !== 'seen' || license.pending_operation !== null) return false
  return (license.status === 'REGISTERED') !== (sight.registration === 'COMPLETED')
}
