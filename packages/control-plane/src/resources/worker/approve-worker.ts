import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Instant } from '@lcm/domain/instant'
import {
  approved,
  isTrusted,
  needsApproval,
  normalFingerprint,
  pinned,
  shownCertificate,
} from '@lcm/domain/worker/instance-trust'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Approval } from '@lcm/domain/worker/worker-field-schemas'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict, SYSTEM_ACTOR } from '../../system-actor.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { refuseTerminating } from './set-desired-status.ts'

/** The audit entry itself says who approved it and when. */
export const audited = ({ state: approval, fingerprint }: Approval) => ({ approval, fingerprint })

/**
 * Lets the instance get secrets, also to return its license before it is terminated. A repeated approval changes nothing; another
 * certificate needs a repin.
 */
export const approveWorker = (api: Api, request: WorkerRequest<BodyOf<'approveWorker'>>): Promise<Worker> =>
  changeWorker(api, request, (worker, now) => {
    const { reason } = request.body
    const fingerprint = request.body.fingerprint === undefined ? null : normalFingerprint(request.body.fingerprint)
    if (!needsApproval(worker)) {
      if (fingerprint !== null && fingerprint !== worker.cml.certificate_sha256) throw mismatch(worker, fingerprint)
      return null
    }
    const changed = approved(worker, { by: request.actor.name, at: now, fingerprint })
    const entry = { before: audited(worker.approval), after: audited(changed.approval), reason }
    return { worker: changed, entries: [auditEntry(request.actor, 'approve', now, entry)] }
  })

/** Pins another certificate, such as that of a reinstalled CML: the one that it showed, and no other. */
export const repinWorker = (api: Api, request: WorkerRequest<BodyOf<'repinWorker'>>): Promise<Worker> =>
  changeWorker(api, request, (worker, now) => {
    refuseTerminating(worker)
    if (worker.ec2_instance_id !== null && !isTrusted(worker))
      throw new ProblemError(
        'worker_not_trusted',
        `approve ${worker.name} with \`lcm approve worker ${worker.id}\` first`,
      )
    const fingerprint = normalFingerprint(request.body.fingerprint)
    if ((shownCertificate(worker) ?? fingerprint) !== fingerprint) throw mismatch(worker, fingerprint)
    if (worker.cml.certificate_sha256 === fingerprint) return null
    const changed = pinned(worker, fingerprint)
    const before = { certificate_sha256: worker.cml.certificate_sha256 }
    const entry = { before, after: { certificate_sha256: fingerprint }, reason: request.body.reason }
    return { worker: changed, entries: [auditEntry(request.actor, 'repin', now, entry)] }
  })

/** Completes the approvals that the upgrade of the store gave, with when and an entry in the audit log. */
export async function recordMigratedApprovals(api: Api): Promise<void> {
  const isNew = ({ approval }: Worker) => approval.state === 'migrated' && approval.at === null
  for (const { id } of (await listAll(api.workers, {})).filter(isNew)) {
    const record = (worker: Worker, now: Instant) => {
      if (!isNew(worker)) return null
      const approval = { ...worker.approval, by: 'upgrade', at: now }
      const reason = 'it was in use before approvals existed'
      const entry = { before: { approval: 'required' }, after: audited(approval), reason }
      return { worker: { ...worker, approval }, entries: [auditEntry(SYSTEM_ACTOR, 'approve', now, entry)] }
    }
    await nullOnConflict(changeWorker(api, asSystem(id), record))
  }
}

const mismatch = (worker: Worker, fingerprint: string): ProblemError => {
  const seen = shownCertificate(worker)
  const shown = seen === null ? `has not shown a certificate` : `showed the certificate ${seen}`
  return new ProblemError('certificate_mismatch', `${worker.name} ${shown}, not ${fingerprint}`)
}
