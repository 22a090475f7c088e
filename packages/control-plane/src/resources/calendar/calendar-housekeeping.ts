import { reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Logger } from '@lcm/runtime'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict } from '../../system-actor.ts'
import { listAll } from '../list-documents.ts'
import { changeSession } from '../session/change-session.ts'
import { settledProfile } from './admit-sessions.ts'

/** Finishes what a crash left of an admission, and marks sessions whose promise can't be kept. Any replica may run it. */
export async function maintainCalendar(api: Api, log: Logger): Promise<void> {
  // Housekeeping has other work than to wait for a decision, which finishes batches too.
  if (api.calendar.waiting > 0) return
  const { unplaced, reviewed } = await settledProfile(api)
  if (reviewed !== null) log.info(reviewed, 'sessions of an earlier release were entered in the calendar')
  for (const id of unplaced) await mark(api, id, true)
  const marked = await listAll(api.sessions, { where: { at_risk: 'yes' } })
  for (const { id } of marked) if (!unplaced.has(id)) await mark(api, id, false)
}

const mark = (api: Api, id: string, isAtRisk: boolean) =>
  nullOnConflict(
    changeSession(api, id, asSystem(id), session => {
      const { admission } = session
      if (admission.kind !== 'admitted' || (admission.at_risk !== null) === isAtRisk) return null
      return { session: withRisk(session, isAtRisk) }
    }),
  )

const withRisk = (session: LabletSession, isAtRisk: boolean): LabletSession => ({
  ...session,
  admission: { ...session.admission, at_risk: isAtRisk ? reason('capacity_lost') : null },
})
