import { lossOf } from '@lcm/domain/calendar/session-admission'
import { type Reason, sameReason } from '@lcm/domain/reason'
import type { Logger } from '@lcm/runtime'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict } from '../../system-actor.ts'
import { listAll } from '../list-documents.ts'
import { changeSession } from '../session/change-session.ts'
import { promiseLater, settledProfile } from './admit-sessions.ts'
import { admissionEntry } from './finish-batch.ts'
import { promiseByTimings } from './follow-timings.ts'

/** Finishes what a crash left of an admission, and marks sessions whose promise can't be kept. Any replica may run it. */
export async function maintainCalendar(api: Api, log: Logger): Promise<void> {
  // Housekeeping has other work than to wait for a decision, which finishes batches too.
  if (api.calendar.waiting > 0) return
  const { lost, reviewed } = await settledProfile(api)
  if (reviewed !== null) log.info(reviewed, 'sessions of an earlier release were entered in the calendar')
  if (reviewed !== null && reviewed.best_effort > 0)
    log.warn(
      { sessions: reviewed.best_effort },
      'no capacity is left for sessions of an earlier release: they are best effort; see `lcm doctor`',
    )
  const causes = new Map([...lost, ...(await promiseLater(api)), ...(await promiseByTimings(api))])
  for (const [id, cause] of causes) await mark(api, id, cause)
  const marked = await listAll(api.sessions, { where: { at_risk: 'yes' } })
  for (const { id } of marked) if (!causes.has(id)) await mark(api, id, null)
}

/** Without a cause it is at risk no more. */
const mark = (api: Api, id: string, cause: Reason | null) =>
  nullOnConflict(
    changeSession(api, id, asSystem(id), (session, now) => {
      const { admission } = session
      const at_risk = lossOf(admission, cause, now)
      if (sameReason(admission.at_risk, at_risk)) return null
      const marked = { ...admission, at_risk }
      const isNew = admission.at_risk === null || at_risk === null
      const entries = isNew ? [admissionEntry(admission, marked, now)] : []
      return { session: { ...session, admission: marked }, entries }
    }),
  )
