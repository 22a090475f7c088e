import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { type MeasuredDuration, measuredLabStart } from '@lcm/domain/calendar/measured-duration'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { refuseStale } from '../change-document.ts'
import { decisionEntry } from '../journal/entries.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { recordDuration } from '../timing/record-duration.ts'
import { changeSession, type SessionRequest } from './change-session.ts'
import { findSession } from './queries.ts'
import { cleanUpSession } from './session-cleanup.ts'
import { permitLabStart, shortenReservation } from './session-reservation.ts'

type ReportRequest = SessionRequest<BodyOf<'reportSession'>>

/**
 * Controllers report what they observe, never what is desired. A report releases no capacity: that takes a lab that is gone. A
 * session leaves its worker before the deletion of its lab is requested: a report that is refused must not cost the lab.
 */
export async function reportSession(api: Api, request: ReportRequest): Promise<LabletSession> {
  const { changes, decision } = request.body
  const before = await findSession(api, request.params.id)
  refuseStale(before, request.ifMatch)
  raiseDocumentFence(before, request)
  refuseOthersMoves(before, changes)
  if (changes.status === 'INSTANTIATING') await permitLabStart(api, request, before)
  let labStart: MeasuredDuration | null = null
  const reported = await changeSession(api, before.id, request, (session, now) => {
    const seen = { ...session, ...changes }
    const changed = seen.status === 'PENDING' ? { ...unplaced(session), ...changes } : seen
    labStart = measuredLabStart(session, changed, now)
    return {
      session: { ...changed, ...endOf(changed), fence: raiseDocumentFence(session, request) },
      entries: [decisionEntry(decision, { service: request.actor.service ?? '', epoch: request.epoch }, now)],
      because: decision.because,
    }
  })
  await recordDuration(api, request, labStart)
  if (changes.status === 'STOPPING') await shortenReservation(api, reported)
  if (reported.worker_id === null || isFinal(reported.status)) await cleanUpSession(api, reported.id)
  return reported
}

/** Clears the access to a lab that is gone. */
const endOf = ({ status, access }: LabletSession): Pick<LabletSession, 'access'> => ({
  access: isFinal(status) || status === 'STOPPED' ? [] : access,
})

/** The session without what belongs to its placement. What it was booked with and its saves stay. */
export const unplaced = (session: LabletSession): LabletSession => ({
  ...session,
  worker_id: null,
  lab_record_id: null,
  access: [],
  pipeline: null,
  conditions: [],
  move: null,
  last_error: null,
})

function refuseOthersMoves(session: LabletSession, { status, worker_id }: ReportRequest['body']['changes']): void {
  if (status === 'SCHEDULED' && session.status !== 'SCHEDULED')
    throw new ProblemError('illegal_transition', 'a session becomes SCHEDULED by its assignment only')
  if (worker_id === null && (status ?? session.status) !== 'PENDING')
    throw new ProblemError('illegal_transition', 'a session leaves its worker only to be placed again')
}
