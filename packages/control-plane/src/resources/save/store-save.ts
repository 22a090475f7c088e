import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { Save } from '@lcm/domain/save/save'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import type { StoredSave } from '../../internal-documents.ts'
import { changeDocument } from '../change-document.ts'
import { newId } from '../ids.ts'
import { listAll } from '../list-documents.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { changeSession, type SessionRequest } from '../session/change-session.ts'
import { findSession } from '../session/queries.ts'
import { refuseDisabled } from './request-save.ts'
import { contentOf, type SaveContent, writeContent } from './save-content.ts'
import { saveView } from './save-view.ts'

type StoreRequest = SessionRequest<BodyOf<'storeSave'>>

/**
 * Writes the content, then the record that makes it a save, then the session. A crash in between leaves content without a record,
 * which housekeeping removes; a repeated request continues with what it finds.
 */
export async function storeSave(api: Api, request: StoreRequest): Promise<Save> {
  const { params, body } = request
  const session = await findSession(api, params.id)
  raiseDocumentFence(session, request)
  if (isFinal(session.status)) throw new ProblemError('session_over', `it is ${session.status}`)
  await refuseDisabled(api, session)
  const content = contentOf(body.topology)
  const save = (await sameContent(api, session, request, content)) ?? (await newSave(api, session, request, content))
  await recordAttempt(api, request, save)
  return saveView(save)
}

export const savesOf = async (api: Api, sessionId: string): Promise<StoredSave[]> =>
  (await listAll(api.saves, { where: { session_id: sessionId } })).toSorted((a, b) => b.number - a.number)

/** The newest save if it has this content. The save at the end may have interrupted the attempt that made the newest one. */
async function sameContent(
  api: Api,
  session: LabletSession,
  { body }: StoreRequest,
  { sha256 }: SaveContent,
): Promise<StoredSave | null> {
  const [newest] = await savesOf(api, session.id)
  if (newest === undefined) return null
  if (newest.content_sha256 === sha256) return confirmed(api, newest, body)
  if (newest.created_at <= body.began_at || (body.cause === 'end' && !newest.is_final)) return null
  throw new ProblemError(
    'version_mismatch',
    `save ${newest.number} was made since this attempt began; begin another one`,
  )
}

/** The same content may be the last one now, and may lack the latest changes of other nodes. */
const confirmed = (api: Api, { id }: StoredSave, { cause, nodes }: StoreRequest['body']): Promise<StoredSave> =>
  changeDocument({ collection: api.saves, id, noun: 'save' }, api.clock, null, save => {
    const is_final = save.is_final || cause === 'end'
    const isKnown = is_final === save.is_final && JSON.stringify(nodes) === JSON.stringify(save.nodes)
    return isKnown ? null : { document: { ...save, nodes, is_final }, entries: [] }
  })

async function newSave(
  api: Api,
  session: LabletSession,
  request: StoreRequest,
  content: SaveContent,
): Promise<StoredSave> {
  const { cause, nodes, began_at } = request.body
  const [newest] = await savesOf(api, session.id)
  const id = newId(api, 'sv')
  const key = await writeContent(api, id, content)
  // Later than the attempt, even when the clock of another replica was ahead.
  const now = toInstant(Math.max(api.clock.now(), toMs(began_at)))
  const save: StoredSave = {
    ...{ id, version: 1, created_at: now, updated_at: now },
    session_id: session.id,
    number: (newest?.number ?? 0) + 1,
    owner: session.owner,
    owner_name: session.owner_name,
    definition: session.definition,
    cause,
    size_bytes: content.compressed.length,
    content_sha256: content.sha256,
    nodes,
    is_final: cause === 'end',
    session_ended_at: null,
    sealed_key: await api.keys.seal(key, id),
    needed_by: [],
  }
  if ((await api.saves.insert(save)).ok) return sealedActively(api, save, key)
  await api.store.blobs.remove(id)
  // The same attempt was repeated meanwhile, or another one was faster.
  const found = await sameContent(api, session, request, content)
  if (found !== null) return found
  throw new ProblemError('version_mismatch', 'another save was made at the same time; begin another attempt')
}

/** A rotation that ended meanwhile has not seen the key, and the one that sealed it may be gone. */
async function sealedActively(api: Api, save: StoredSave, key: string): Promise<StoredSave> {
  if (await api.keys.isActive(save.sealed_key)) return save
  const sealed_key = await api.keys.seal(key, save.id)
  const target = { collection: api.saves, id: save.id, noun: 'save' }
  const sealed = await changeDocument(target, api.clock, null, document => ({
    document: { ...document, sealed_key },
    entries: [],
  }))
  return sealedActively(api, sealed, key)
}

/** An attempt that the session knows already is not recorded again. */
function recordAttempt(api: Api, request: StoreRequest, save: StoredSave): Promise<LabletSession> {
  const { actor, body, params } = request
  return changeSession(api, params.id, { actor, ifMatch: null, once: null }, (session, now) => {
    const fence = raiseDocumentFence(session, request)
    const { tried_at, save_id } = session.save
    if (save_id === save.id && tried_at !== null && tried_at >= body.began_at) return null
    const skipped = save.nodes.filter(({ outcome }) => outcome === 'skipped').length
    const isUnchanged = save_id === save.id && skipped === 0
    const outcome = isUnchanged ? reason('save_unchanged') : reason('lab_saved', { skipped })
    const latest = { ...waiting(session, body.began_at), tried_at: now, outcome, save_id: save.id }
    return { session: { ...session, save: latest, fence } }
  })
}

/** The request that is still to be served: one that came after the attempt began. */
const waiting = ({ save: { requested_at, requested_by } }: LabletSession, beganAt: Instant) =>
  requested_at !== null && requested_at > beganAt
    ? { requested_at, requested_by }
    : { requested_at: null, requested_by: null }
