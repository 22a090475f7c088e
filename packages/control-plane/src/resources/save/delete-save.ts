import { ProblemError } from '@lcm/contract/problems'
import { mayModify } from '@lcm/contract/route-spec'
import { toInstant, toMs } from '@lcm/domain/instant'
import { isFinal } from '@lcm/domain/session/lablet-session'
import type { NewEntry } from '@lcm/store/store'
import type { Api, Request } from '../../api-context.ts'
import type { StoredSave } from '../../internal-documents.ts'
import { asSystem, nullOnConflict } from '../../system-actor.ts'
import { refuseStale } from '../change-document.ts'
import { auditEntry, removalEntry } from '../journal/entries.ts'
import { changeSession } from '../session/change-session.ts'
import { unknownSave } from './queries.ts'
import { savesOf } from './store-save.ts'

export async function deleteSave(
  api: Api,
  { params, actor, ifMatch }: Request<{ id: string }, unknown, unknown>,
): Promise<null> {
  const save = await api.saves.get(params.id)
  if (save === null || !mayModify(actor, save.owner)) throw unknownSave(params.id)
  refuseStale(save, ifMatch)
  const session = await sessionThatNeeds(api, save)
  if (session !== null)
    throw new ProblemError('save_in_use', `session ${session} was booked from ${save.id} and is not over`)
  const { owner, session_id, number } = save
  const entry = auditEntry(actor, 'delete', toInstant(api.clock.now()), { before: { owner, session_id, number } })
  if (!(await removeSave(api, save, [entry])))
    throw new ProblemError('version_mismatch', `${save.id} was changed meanwhile: read it again`)
  return null
}

/** The record goes first: from then on the content can't be read. False when the record was changed meanwhile. */
export async function removeSave(api: Api, save: StoredSave, entries: readonly NewEntry[] = []): Promise<boolean> {
  const removal = removalEntry(save.owner, toInstant(api.clock.now()))
  if (!(await api.saves.remove(save, [...entries, removal])).ok) return false
  await api.store.blobs.remove(save.id)
  await forgetInSession(api, save)
  return true
}

async function forgetInSession(api: Api, { id, session_id }: StoredSave): Promise<void> {
  if ((await api.sessions.get(session_id))?.save.save_id !== id) return
  const newest = (await savesOf(api, session_id))[0]?.id ?? null
  const change = changeSession(api, session_id, asSystem(session_id), session =>
    session.save.save_id === id ? { session: { ...session, save: { ...session.save, save_id: newest } } } : null,
  )
  await nullOnConflict(change)
}

/** Longer than any booking takes: until then its session may be missing. */
const BOOKING_MS_MAX = 60_000

/** An open session whose lab is made from the save; null if there is none. */
export async function sessionThatNeeds(api: Api, save: StoredSave): Promise<string | null> {
  const since = new Map(save.needed_by.map(each => [each.session_id, each.since]))
  for (const id of new Set([...since.keys(), save.session_id])) {
    const session = await api.sessions.get(id)
    const claimed = since.get(id)
    if (session === null) {
      if (claimed !== undefined && api.clock.now() - toMs(claimed) < BOOKING_MS_MAX) return id
    } else if (session.restore_from === save.id && !isFinal(session.status)) return id
  }
  return null
}
