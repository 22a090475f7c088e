import { reason } from '../../reason.ts'
import { bootDiffers, bootProgress, bootReached, withBoot } from '../boot-stages.ts'
import { isEmpty } from '../cml-endpoint.ts'
import type { CmlObservation, Observation, Seen, WorkerPolicy } from '../observation.ts'
import { CONDITION, holds, type Worker, type WorkerChanges, withCondition, withoutCondition } from '../worker.ts'
import { announce, type Decision, wait, write } from './decision.ts'

/** CML itself: found running and not ready yet, or not answering. Null while it serves. */
export function decideService(seen: Seen): Decision | null {
  const { worker, cml, policy } = seen
  if (cml === null)
    return worker.service_status === 'AVAILABLE' ? null : wait(policy.probeIntervalMs, reason('no_address_yet'))
  const changes = bootChanges(seen, cml)
  if (worker.service_status === 'AVAILABLE') {
    if (cml.stage === 'READY')
      return isEmpty(changes) ? null : announce(changes, reason('cml_ready', { version: cml.version }))
    return write(
      { ...changes, service_status: 'UNAVAILABLE' },
      policy.probeIntervalMs,
      reason('cml_silent', { detail: cml.detail }),
    )
  }
  if (cml.ready_streak >= policy.readyAnswers)
    return announce({ ...changes, service_status: 'AVAILABLE' }, reason('cml_ready', { version: cml.version }))
  const because = bootProgress(bootReached(cml.stage), cml.detail)
  const afterMs = probedAgainMs(worker, cml, policy)
  return isEmpty(changes) ? wait(afterMs, because) : write(changes, afterMs, because)
}

/** A CML that served before is soon trusted again; a new one may be ready once and then reboot. */
export const probedAgainMs = (
  { cml }: Pick<Worker, 'cml'>,
  { stage }: Pick<CmlObservation, 'stage'>,
  { probeIntervalMs }: Pick<WorkerPolicy, 'probeIntervalMs'>,
): number => (stage === 'READY' && cml.up_until !== null ? probeIntervalMs / 2 : probeIntervalMs)

/** The stages and facts of CML that differ from the record. The pin is the first certificate that it shows. */
export function bootChanges({ worker, nowMs }: Seen, cml: NonNullable<Observation['cml']>): WorkerChanges {
  const reached = bootReached(cml.stage)
  const isShown = cml.certificate_sha256 !== null
  const known = {
    version: cml.version ?? worker.cml.version,
    ready: cml.stage === 'READY',
    certificate_sha256: worker.cml.certificate_sha256 ?? cml.certificate_sha256,
    seen_certificate_sha256: isShown ? null : worker.cml.seen_certificate_sha256,
  }
  const cmlChanged = Object.entries(known).some(([name, value]) => worker.cml[name as keyof typeof known] !== value)
  const isRestored = isShown && worker.conditions.some(({ type }) => type === CONDITION.certificateChanged)
  const conditions = isRestored ? withoutCondition(worker.conditions, CONDITION.certificateChanged) : worker.conditions
  return {
    ...(isRestored || bootDiffers(conditions, reached)
      ? { conditions: withBoot(conditions, reached, nowMs, cml.detail) }
      : {}),
    ...(cmlChanged ? { cml: known } : {}),
  }
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
