import type { BodyOf } from '@lcm/contract/routes'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { Api } from '../../http/api.ts'
import { isLabGone } from '../../resources.ts'
import { decisionEntry } from '../journal/entries.ts'
import { isAt } from '../session/change-session.ts'
import { settleSession } from '../session/session-cleanup.ts'
import { raisedFence } from '../worker/change-worker.ts'
import { changeLab, type LabRequest } from './change-lab.ts'
import { dropPorts, isOwnLab, unlessRival } from './lab-cleanup.ts'
import { countLabs } from './lab-counts.ts'
import { findLab } from './queries.ts'

/** What the lablet-controller saw or did. Room that waited for this lab to be down or gone is given back at once. */
export async function reportLab(api: Api, request: LabRequest<BodyOf<'reportLab'>>): Promise<LabRecord> {
  const { changes, decision } = request.body
  const isOwn = await isOwnLab(api, await findLab(api, request.params.id))
  let wasGone = false
  const reported = await changeLab(api, request, (lab, now) => {
    wasGone = isLabGone(lab)
    const seen = { ...lab, ...changes, last_seen_at: now, fence: raisedFence(lab, request) }
    return {
      lab: unlessRival(isLabGone(seen) ? { ...seen, pending_action: null } : seen, isOwn, now),
      entries: [decisionEntry(decision, { service: request.actor.service ?? '', epoch: request.epoch }, now)],
      because: decision.because,
    }
  })
  await settleAround(api, reported)
  if (wasGone !== isLabGone(reported)) await countLabs(api, reported.worker_id)
  return reported
}

/** What follows from where a lab is now, for those who do not look at it themselves. */
export async function settleAround(api: Api, lab: LabRecord): Promise<void> {
  if (lab.session_id === null) return isLabGone(lab) ? dropPorts(api, lab) : undefined
  const session = await api.sessions.get(lab.session_id)
  if (!isAt(session, lab.worker_id) || session?.lab_record_id !== lab.id) await settleSession(api, lab.session_id)
}
