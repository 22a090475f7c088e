import type { AnswerOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { effectiveSettings, SETTINGS_ID, type SettingValues } from '@lcm/domain/fleet/settings'
import type { Api } from '../../api-context.ts'
import { narrowSettings } from '../../narrow-view.ts'
import { seesAll } from '../../visibility.ts'
import { settingsView } from './settings-view.ts'

/** Effective values: changed at run time, else from the environment, else the defaults. */
export async function currentSettings(api: Api): Promise<SettingValues> {
  return effectiveSettings((await api.settings.get(SETTINGS_ID))?.given ?? {}, api.config.settings)
}

export async function getSettings(api: Api, actor: Actor): Promise<AnswerOf<'getSettings'>> {
  const view = settingsView(api, await api.settings.get(SETTINGS_ID))
  return seesAll(actor) ? view : narrowSettings(view)
}
