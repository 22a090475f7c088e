import { ProblemError } from '@lcm/contract/problems'
import { mayModify } from '@lcm/contract/route-spec'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { isFinal } from '@lcm/domain/session/lablet-session'
import type { NewEntry } from '@lcm/store/store'
import type { Api, Request } from '../../api-context.ts'
import type { StoredSave } from '../../internal-documents.ts'
import { asSystem, nullOnConflict } from '../../system-actor.ts'
import { changeDocument, refuseStale } from '../change-document.ts'
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
  const claims = [...save.needed_by, { session_id: save.session_id, since: null }]
  for (const claim of claims) if (await isNeededFor(api, save.id, claim)) return claim.session_id
  return null
}

interface Claim {
  readonly session_id: string
  /** Null for the session that was saved. */
  readonly since: Instant | null
}

/** Without a session the booking is in progress, or crashed. */
async function isNeededFor(api: Api, saveId: string, { session_id, since }: Claim): Promise<boolean> {
  const session = await api.sessions.get(session_id)
  if (session === null) return since !== null && api.clock.now() - toMs(since) < BOOKING_MS_MAX
  return session.restore_from === saveId && !isFinal(session.status)
}

/** From now on the retention keeps the save for the session, which is inserted next. Claims of sessions that are over go. */
export async function claimSave(api: Api, { id, needed_by }: StoredSave, session_id: string): Promise<void> {
  const over = new Set<string>()
  for (const claim of needed_by) if (!(await isNeededFor(api, id, claim))) over.add(claim.session_id)
  await changeDocument({ collection: api.saves, id, noun: 'save' }, api.clock, null, (save, since) => ({
    document: {
      ...save,
      needed_by: [...save.needed_by.filter(claim => !over.has(claim.session_id)), { session_id, since }],
    },
    entries: [],
  }))
}
