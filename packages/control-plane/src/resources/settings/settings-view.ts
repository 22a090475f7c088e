import type { AnswerOf } from '@lcm/contract/routes'
import {
  effectiveSettings,
  type SettingName,
  type Settings,
  SettingValues,
  sourceOfSetting,
} from '@lcm/domain/fleet/settings'
import type { ApiParts } from '../../api-dependencies.ts'

/** Every setting with its effective value and source. Version 0 before the first change. */
export function settingsView({ config }: Pick<ApiParts, 'config'>, settings: Settings | null): AnswerOf<'getSettings'> {
  const given = settings?.given ?? {}
  const environment = config.settings
  const values = effectiveSettings(given, environment)
  const rows = SettingValues.keyof().options.map((name: SettingName) => [
    name,
    { value: values[name], source: sourceOfSetting(name, given, environment) },
  ])
  return {
    version: settings?.version ?? 0,
    updated_at: settings?.updated_at ?? null,
    settings: Object.fromEntries(rows),
  }
}
