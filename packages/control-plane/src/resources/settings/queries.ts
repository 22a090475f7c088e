import type { AnswerOf } from '@lcm/contract/routes'
import {
  effectiveSettings,
  SETTINGS_ID,
  type SettingName,
  type Settings,
  SettingValues,
  sourceOfSetting,
} from '@lcm/domain/fleet/settings'
import type { Api } from '../../http/api.ts'

/** What holds now. */
export async function currentSettings(api: Api): Promise<SettingValues> {
  return effectiveSettings((await api.settings.get(SETTINGS_ID))?.given ?? {}, api.config.settings)
}

export const getSettings = async (api: Api): Promise<AnswerOf<'getSettings'>> =>
  settingsView(api, await api.settings.get(SETTINGS_ID))

/** Version 0 until somebody has said something. */
export function settingsView(api: Api, settings: Settings | null): AnswerOf<'getSettings'> {
  const given = settings?.given ?? {}
  const environment = api.config.settings
  const values = effectiveSettings(given, environment)
  const names = SettingValues.keyof().options
  const shown = names.map((name: SettingName) => [
    name,
    { value: values[name], source: sourceOfSetting(name, given, environment) },
  ])
  return {
    version: settings?.version ?? 0,
    updated_at: settings?.updated_at ?? null,
    settings: Object.fromEntries(shown),
  }
}
