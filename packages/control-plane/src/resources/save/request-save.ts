import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { changeSession, type SessionRequest } from '../session/change-session.ts'
import { findSession, refuseStranger } from '../session/queries.ts'
import { refuseOver } from '../session/session-lifecycle-commands.ts'

/** Asks the lablet-controller for a save. While one request waits, another changes nothing. */
export async function saveSession(api: Api, request: SessionRequest<BodyOf<'saveSession'>>): Promise<LabletSession> {
  const { actor, body } = request
  const before = await findSession(api, request.params.id)
  refuseStranger(before, actor)
  await refuseDisabled(api, before)
  return changeSession(api, before.id, request, (session, now) => {
    refuseOver(session, now)
    refuseWithoutLab(session)
    if (session.save.requested_at !== null) return null
    return {
      session: { ...session, save: { ...session.save, requested_at: now, requested_by: actor.name } },
      entries: [auditEntry(actor, 'save', now, { reason: body.reason })],
    }
  })
}

export async function refuseDisabled(api: Api, { definition: { id, name, version } }: LabletSession): Promise<void> {
  const definition = await api.definitions.get(id)
  if (definition === null || definition.saves_enabled) return
  throw new ProblemError('saves_disabled', `the author of ${name} ${version} switched saves off`)
}

function refuseWithoutLab({ status }: LabletSession): void {
  if (isUp(status)) return
  throw new ProblemError(
    'session_wrong_state',
    `it is ${status}, so there is no work to save yet. Try again when it is READY or RUNNING`,
  )
}
