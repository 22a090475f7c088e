import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { LabAction, LabRecord } from '@lcm/domain/lab/lab-record'
import { isFinal } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { refuseStale } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { changeLab, type LabRequest } from './change-lab.ts'
import { isLabGone } from './is-lab-usable.ts'
import { findLab } from './queries.ts'

/** Requests an action on a lab that no session uses. The lablet-controller performs and reports it. */
export async function requestLabAction(
  api: Api,
  request: LabRequest<BodyOf<'startLab'>>,
  action: LabAction,
): Promise<LabRecord> {
  const { session_id } = await findLab(api, request.params.id)
  const session = session_id === null ? null : await api.sessions.get(session_id)
  return changeLab(api, { ...request, ifMatch: null }, (lab, now) => {
    if (lab.pending_action?.action === action && lab.pending_action.error === null) return null
    refuseStale(lab, request.ifMatch)
    if (isLabGone(lab)) throw new ProblemError('lab_gone', `${lab.title} is ${lab.status}`)
    // A session that claimed the lab since then has changed the record.
    const isUsed = session !== null && !isFinal(session.status)
    if (lab.session_id !== session_id || isUsed)
      throw new ProblemError(
        'lab_in_use',
        `session ${lab.session_id} uses ${lab.title}; ${action === 'start' ? 'retry' : 'cancel'} that instead`,
      )
    const pending_action = { action, by: request.actor.name, at: now, attempts: 0, error: null }
    const entry = auditEntry(request.actor, action, now, { reason: request.body.reason })
    return { lab: { ...lab, pending_action }, entries: [entry] }
  })
}
