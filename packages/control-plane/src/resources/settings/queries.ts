import type { AnswerOf } from '@lcm/contract/routes'
import { effectiveSettings, SETTINGS_ID, type SettingValues } from '@lcm/domain/fleet/settings'
import type { Api } from '../../api-context.ts'
import { settingsView } from './settings-view.ts'

/** Effective values: changed at run time, else from the environment, else the defaults. */
export async function currentSettings(api: Api): Promise<SettingValues> {
  return effectiveSettings((await api.settings.get(SETTINGS_ID))?.given ?? {}, api.config.settings)
}

export const getSettings = async (api: Api): Promise<AnswerOf<'getSettings'>> =>
  settingsView(api, await api.settings.get(SETTINGS_ID))
