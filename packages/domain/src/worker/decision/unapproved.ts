import { reason } from '../../reason.ts'
import { bootDiffers, bootReached, withBoot } from '../boot-stages.ts'
import { factsOf, isEmpty } from '../cml-endpoint.ts'
import { approvalRequired } from '../instance-trust.ts'
import type { CmlObservation, Seen } from '../observation.ts'
import { CONDITION, holds, type Worker, type WorkerChanges, withCondition } from '../worker.ts'
import { type Decision, nothing, wait, write } from './decision.ts'

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
  if (!isEmpty(changes)) return write(changes, policy.requeueMs, because)
  return nothing(because)
}

function publicFacts({ cml: known }: Worker, cml: CmlObservation | null): WorkerChanges {
  if (cml === null || cml.certificate_sha256 === null) return {}
  const version = cml.version ?? known.version
  const { certificate_sha256: seen_certificate_sha256 } = cml
  const isKnown = version === known.version && seen_certificate_sha256 === known.seen_certificate_sha256
  return isKnown ? {} : { cml: { version, seen_certificate_sha256 } }
}

/** The certificate that CML shows instead of the pinned one; null while it shows that one, or none. */
function otherCertificate({ cml: { certificate_sha256: pin } }: Worker, cml: CmlObservation): string | null {
  const { certificate_sha256: seen } = cml
  return pin === null || seen === pin ? null : seen
}

/** Another certificate may be that of another server: the worker serves nothing until an operator has compared it. */
export function decideCertificate({ worker, cml, policy, nowMs }: Seen): Decision | null {
  const seen = cml === null ? null : otherCertificate(worker, cml)
  if (seen === null) return null
  const because = reason('certificate_changed', {
    worker_id: worker.id,
    pinned: worker.cml.certificate_sha256 ?? '',
    seen,
  })
  const isReported =
    worker.service_status === 'UNAVAILABLE' &&
    worker.cml.seen_certificate_sha256 === seen &&
    holds(worker.conditions, CONDITION.certificateChanged)
  if (isReported) return wait(policy.requeueMsMax, because)
  const stages = withBoot(worker.conditions, bootReached('TLS'), nowMs)
  const changes: WorkerChanges = {
    ...(worker.status === 'STARTING' ? { status: 'RUNNING' } : {}),
    service_status: 'UNAVAILABLE',
    cml: { ready: false, seen_certificate_sha256: seen },
    conditions: withCondition(stages, { type: CONDITION.certificateChanged, status: true, reason: because }, nowMs),
  }
  return write(changes, policy.requeueMsMax, because)
}
