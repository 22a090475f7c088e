import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { patchedSettings, SETTINGS_ID, type Settings } from '@lcm/domain/fleet/settings'
import { toInstant } from '@lcm/domain/instant'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument, refuseStale } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { settingsView } from './settings-view.ts'

type PatchRequest = Request<object, unknown, BodyOf<'patchSettings'>>

export async function patchSettings(api: Api, request: PatchRequest): Promise<AnswerOf<'patchSettings'>> {
  const isFirst = (await api.settings.get(SETTINGS_ID)) === null
  return settingsView(api, isFirst ? await firstSettings(api, request) : await changedSettings(api, request))
}

/** Creates the document at the first change (version 0 before); null when the patch changes nothing. */
async function firstSettings(api: Api, request: PatchRequest): Promise<Settings | null> {
  refuseStale({ id: SETTINGS_ID, version: 0 }, request.ifMatch)
  const given = patchedSettings({}, request.body)
  if (Object.keys(given).length === 0) return null
  const now = toInstant(api.clock.now())
  const settings: Settings = { id: SETTINGS_ID, version: 1, created_at: now, updated_at: now, given }
  const result = await api.settings.insert(settings, [auditEntry(request.actor, 'patch', now, { after: given })])
  return result.ok ? settings : changedSettings(api, request)
}

function changedSettings(api: Api, { body, actor, ifMatch }: PatchRequest): Promise<Settings> {
  const target = { collection: api.settings, id: SETTINGS_ID, noun: 'settings' }
  return changeDocument(target, api.clock, ifMatch, (current, now) => {
    const given = patchedSettings(current.given, body)
    if (JSON.stringify(given) === JSON.stringify(current.given)) return null
    const entries = [auditEntry(actor, 'patch', now, { before: current.given, after: given })]
    return { document: { ...current, given }, entries }
  })
}
