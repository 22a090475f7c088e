import { reason } from '../../reason.ts'
import { bootDiffers, withBoot } from '../boot-stages.ts'
import { factsOf, isEmpty } from '../cml-endpoint.ts'
import { approvalRequired } from '../instance-trust.ts'
import type { CmlObservation, Seen } from '../observation.ts'
import type { Worker, WorkerChanges } from '../worker.ts'
import { type Decision, nothing, write } from './decision.ts'

/** The machine runs. */
const MACHINE_ONLY = 1

/**
 * A running instance that needs an approval: recorded are what EC2 reports and what CML shows to everyone. It is not judged by its CML, so
 * it never fails, and is never stopped for that.
 */
export function decideUnapproved(seen: Seen): Decision {
  const { worker, instance, cml, policy, nowMs } = seen
  const because = approvalRequired(worker)
  const changes: WorkerChanges = {
    ...factsOf(worker, instance, policy.cmlAddress),
    ...(worker.status === 'RUNNING' ? {} : { status: 'RUNNING' }),
    ...(worker.service_status === 'UNAVAILABLE' ? {} : { service_status: 'UNAVAILABLE' }),
    ...(bootDiffers(worker.conditions, MACHINE_ONLY)
      ? { conditions: withBoot(worker.conditions, MACHINE_ONLY, nowMs) }
      : {}),
    ...publicFacts(worker, cml),
  }
  const moved = reason('ec2_reports', { state: instance.state })
  if (!isEmpty(changes)) return write(changes, policy.requeueMs, changes.status === undefined ? because : moved)
  return nothing(because)
}

function publicFacts({ cml: known }: Worker, cml: CmlObservation | null): WorkerChanges {
  if (cml === null || cml.certificate_sha256 === null) return {}
  const version = cml.version ?? known.version
  const { certificate_sha256: seen_certificate_sha256 } = cml
  const isKnown = version === known.version && seen_certificate_sha256 === known.seen_certificate_sha256
  return isKnown ? {} : { cml: { version, seen_certificate_sha256 } }
}
