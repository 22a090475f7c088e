import { type Client, unlessMissing } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { Save } from '@lcm/domain/save/save'
import { savedNodesText, saveSizeText } from '@lcm/domain/save/save-text'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { notThere } from '../find-resource.ts'
import { type Kind, publishedAs } from '../resource-kinds.ts'
import type { ResourceView } from '../resource-view.ts'
import { ageOf } from '../worker/worker-view.ts'

const SAVE_VIEW: ResourceView<Save> = {
  nameOf: save => save.id,
  columns: nowMs => [
    { title: 'ID', text: save => save.id },
    { title: 'SESSION', text: save => save.session_id },
    { title: 'DEFINITION', text: ({ definition }) => `${definition.name} ${definition.version}` },
    { title: 'OWNER', text: save => save.owner_name || save.owner },
    { title: 'CAUSE', text: save => save.cause },
    { title: 'SAVED', text: save => savedNodesText(save.nodes) },
    { title: 'SIZE', text: saveSizeText },
    { title: 'AGE', text: save => ageOf(save.created_at, nowMs) },
  ],
  whenEmpty:
    'no saves found: LCM saves running labs at an interval and at the end, or at once with `lcm save session ID`',
}

/** All saves, or those of one session. */
export const savesOf = (session_id?: string): Kind<Save> => ({
  view: SAVE_VIEW,
  hidden: null,
  isHidden: save => session_id !== undefined && save.session_id !== session_id,
  find: findSave,
  list: (client, _, signal) =>
    readList(page => client.call('listSaves', { query: { ...page, ...(session_id && { session_id }) }, signal })),
  ...publishedAs('saves'),
})

export const SAVES = savesOf()

export async function findSave(client: Client, id: string, signal: AbortSignal): Promise<Save> {
  const save = await unlessMissing(client.call('getSave', { params: { id }, signal }))
  if (save === null) throw notThere('save', id, 'lcm get saves')
  return save
}

/** Null for a session that was never saved, or whose saves were deleted. */
export const newestSave = async (
  client: Client,
  { save: { save_id: id } }: LabletSession,
  signal: AbortSignal,
): Promise<Save | null> => (id === null ? null : unlessMissing(client.call('getSave', { params: { id }, signal })))
