import type { BodyOf } from '@lcm/contract/routes'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { Api } from '../../api-context.ts'
import { decisionEntry } from '../journal/entries.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { isPlacedOn } from '../session/change-session.ts'
import { cleanUpSession } from '../session/session-cleanup.ts'
import { changeLab, type LabRequest } from './change-lab.ts'
import { isLabGone } from './is-lab-usable.ts'
import { deleteIfSuperseded, isOwnLab, releasePorts } from './lab-cleanup.ts'
import { countLabs, findLab } from './queries.ts'

/** Records an observation or action of the lablet-controller, and releases capacity that waited for this lab to stop. */
export async function reportLab(api: Api, request: LabRequest<BodyOf<'reportLab'>>): Promise<LabRecord> {
  const { changes, decision } = request.body
  const isOwn = await isOwnLab(api, await findLab(api, request.params.id))
  let wasGone = false
  const reported = await changeLab(api, request, (lab, now) => {
    wasGone = isLabGone(lab)
    const seen = { ...lab, ...changes, last_seen_at: now, fence: raiseDocumentFence(lab, request) }
    return {
      lab: deleteIfSuperseded(isLabGone(seen) ? { ...seen, pending_action: null } : seen, isOwn, now),
      entries: [decisionEntry(decision, { service: request.actor.service ?? '', epoch: request.epoch }, now)],
      because: decision.because,
    }
  })
  await cleanUpAfterLab(api, reported)
  if (wasGone !== isLabGone(reported)) await countLabs(api, reported.worker_id)
  return reported
}

/** Cleans up the session of a lab that it doesn't use any more. */
export async function cleanUpAfterLab(api: Api, lab: LabRecord): Promise<void> {
  if (lab.session_id === null) return isLabGone(lab) ? releasePorts(api, lab) : undefined
  const session = await api.sessions.get(lab.session_id)
  if (!isPlacedOn(session, lab.worker_id) || session?.lab_record_id !== lab.id)
    await cleanUpSession(api, lab.session_id)
}
