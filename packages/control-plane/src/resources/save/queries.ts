import { ProblemError } from '@lcm/contract/problems'
import { mayView } from '@lcm/contract/route-spec'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import type { Save } from '@lcm/domain/save/save'
import type { Api, Request } from '../../api-context.ts'
import { randomText } from '../../crypto.ts'
import type { StoredSave } from '../../internal-documents.ts'
import { auditEntry } from '../journal/entries.ts'
import { listPage, ownedWhere } from '../list-documents.ts'
import { readContent } from './save-content.ts'
import { saveView } from './save-view.ts'

export const unknownSave = (id: string) => new ProblemError('not_found', `there is no save ${id}`)

/** Not found for the save of another owner, so that its existence is not revealed. */
export async function findSave(api: Api, id: string, actor: Actor): Promise<StoredSave> {
  const save = await api.saves.get(id)
  if (save === null || !mayView(actor, save.owner)) throw unknownSave(id)
  return save
}

export const getSave = async (api: Api, id: string, actor: Actor): Promise<Save> =>
  saveView(await findSave(api, id, actor))

export async function listSaves(
  api: Api,
  { query, actor }: Request<object, QueryOf<'listSaves'>, unknown>,
): Promise<AnswerOf<'listSaves'>> {
  const { session_id, definition, owner } = query
  const page = await listPage(api, api.saves, query, { where: ownedWhere(actor, { session_id, definition, owner }) })
  return { ...page, items: page.items.map(saveView) }
}

/** Controllers restore labs; every other read of another owner's work is audited before it is sent. */
export async function saveTopology(api: Api, id: string, actor: Actor): Promise<AnswerOf<'getSaveTopology'>> {
  const save = await findSave(api, id, actor)
  const topology = await readContent(api, save)
  if (actor.role !== 'controller' && actor.id !== save.owner) await recordRead(api, save, actor)
  return { topology }
}

async function recordRead(api: Api, { id, owner, session_id }: StoredSave, actor: Actor): Promise<void> {
  const subject = `save:${id}`
  const entry = auditEntry(actor, 'read', toInstant(api.clock.now()), { after: { owner, session_id } })
  await api.store.journal.append([{ ...entry, id: `${subject}:read:${randomText(api.randomBytes, 8)}`, subject }])
}

/** For a booking that names a save. */
export const saveNotFound = (id: string) => new ProblemError('save_not_found', `there is no save ${id}`)
