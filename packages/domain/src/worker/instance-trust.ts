import type { Instant } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { CONDITION, type Worker, withoutCondition } from './worker.ts'
import { type Approval, NOT_NEEDED } from './worker-field-schemas.ts'

/**
 * Whether the worker's instance may receive secrets: passwords, license tokens and sessions of CML. LCM launched it itself, which the
 * recorded attempt proves, or it was approved. Tags prove nothing: anyone who may tag instances can write them.
 */
export const isTrusted = ({ launch, ec2_instance_id, approval }: Worker): boolean =>
  ec2_instance_id !== null &&
  (launch?.state === 'launched' || approval.state === 'approved' || approval.state === 'migrated')

/** Whether its instance may be used only after an operator has approved it. */
export const needsApproval = (worker: Worker): boolean =>
  worker.ec2_instance_id !== null && worker.status !== 'TERMINATED' && !isTrusted(worker)

/** The same for readers whose view hides the instance: as the last report recorded it. */
export const awaitsApproval = (worker: Worker): boolean =>
  needsApproval(worker) ||
  (worker.ec2_instance_id === null && worker.status !== 'TERMINATED' && worker.approval.state === 'required')

/** What an instance without approval lacks, with the command that approves it. */
export const approvalRequired = ({ id }: Worker): Reason => reason('approval_required', { worker_id: id })

/**
 * The worker after a report. Approval and pin belong to one instance: another one, or one that only its tags name, needs its own approval.
 * Before it a report pins no certificate, so that a controller of a version before approvals sends no password.
 */
export function trustAfter(before: Worker, reported: Worker): Worker {
  const worker = before.ec2_instance_id === reported.ec2_instance_id ? reported : distrusted(before, reported)
  if (!needsApproval(worker)) return worker
  const pin = worker.cml.certificate_sha256 === null ? null : before.cml.certificate_sha256
  return {
    ...worker,
    approval: { ...NOT_NEEDED, state: 'required' },
    cml: { ...worker.cml, certificate_sha256: pin },
  }
}

/** A certificate that was pinned before the first instance stays. */
function distrusted(before: Worker, reported: Worker): Worker {
  const worker = { ...reported, approval: NOT_NEEDED }
  if (before.ec2_instance_id === null) return worker
  return { ...worker, cml: { ...reported.cml, certificate_sha256: null, seen_certificate_sha256: null } }
}

/** The worker with its instance approved. With a fingerprint its CML is trusted only if it shows that certificate. */
export function approved(worker: Worker, given: Omit<Approval, 'state'>): Worker {
  const approval: Approval = { ...given, state: 'approved' }
  return given.fingerprint === null ? { ...worker, approval } : { ...pinned(worker, given.fingerprint), approval }
}

/** The worker with another pinned certificate. */
export const pinned = (worker: Worker, certificate_sha256: string): Worker => ({
  ...worker,
  cml: { ...worker.cml, certificate_sha256, seen_certificate_sha256: null },
  conditions: withoutCondition(worker.conditions, CONDITION.certificateChanged),
})

/** The certificate that its CML showed last: the one that is not trusted yet, else the pinned one. */
export const shownCertificate = ({ cml }: Worker): string | null =>
  cml.seen_certificate_sha256 ?? cml.certificate_sha256

/** The setting whose list approves machines. */
const AUTO_APPROVE = 'auto_approve'

/** Approves a machine whose image or launch template is on the list. EC2 sets both, and no user can change them by a tag. */
export function autoApproval(
  setting: string,
  { ami_id, launch_template_id }: { ami_id: string | null; launch_template_id: string | null },
  at: Instant,
): Approval | null {
  const listed = setting.split(',')
  const isListed = [ami_id, launch_template_id].some(each => each !== null && listed.includes(each))
  return isListed ? { state: 'approved', by: AUTO_APPROVE, at, fingerprint: null } : null
}

/** A fingerprint as it is stored, from the forms that openssl and browsers show. */
export const normalFingerprint = (text: string): string => text.replaceAll(':', '').toLowerCase()
