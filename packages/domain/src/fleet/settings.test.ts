import { describe, expect, it } from 'vitest'
import {
  effectiveSettings,
  patchedSettings,
  SETTING_DEFAULTS,
  SettingsPatch,
  SettingValues,
  sourceOfSetting,
} from './settings.ts'

describe('the effective settings', () => {
  it('are the stored values, else those of the environment, else the defaults', () => {
    const environment = { min_workers: 2, idle_action: 'none' as const }
    const given = { min_workers: 3 }
    const values = effectiveSettings(given, environment)
    expect(values).toEqual({ ...SETTING_DEFAULTS, min_workers: 3, idle_action: 'none' })
    expect(sourceOfSetting('min_workers', given, environment)).toBe('given')
    expect(sourceOfSetting('idle_action', given, environment)).toBe('environment')
    expect(sourceOfSetting('external_stop', given, environment)).toBe('default')
  })

  it('use a stored value also when it is false, 0, or the same as the default', () => {
    const given = { scale_up_enabled: false, min_workers: 0 }
    expect(effectiveSettings(given, { scale_up_enabled: true, min_workers: 4 })).toMatchObject(given)
    expect(sourceOfSetting('min_workers', given, {})).toBe('given')
  })

  it('have a valid default for every setting', () => {
    expect(SettingValues.parse(SETTING_DEFAULTS)).toEqual(SETTING_DEFAULTS)
    expect(Object.keys(SETTING_DEFAULTS)).toEqual(Object.keys(SettingValues.shape))
  })
})

describe('without an idle action', () => {
  it('workers follow the calendar, or a timeout that was set', () => {
    expect(effectiveSettings({}, {}).idle_action).toBe('calendar')
    expect(effectiveSettings({ idle_timeout_seconds: 60 }, {}).idle_action).toBe('pause')
    expect(effectiveSettings({}, { idle_timeout_seconds: 60 }).idle_action).toBe('pause')
    expect(effectiveSettings({ idle_action: 'calendar' }, { idle_timeout_seconds: 60 }).idle_action).toBe('calendar')
    expect(effectiveSettings({ idle_timeout_seconds: 60 }, { idle_action: 'drain' }).idle_action).toBe('drain')
  })
})

describe('a patch', () => {
  it('adds, replaces, and resets with null', () => {
    const given = { min_workers: 3, idle_timeout_seconds: 60 }
    expect(patchedSettings(given, { min_workers: 4, idle_action: 'drain' })).toEqual({
      min_workers: 4,
      idle_timeout_seconds: 60,
      idle_action: 'drain',
    })
    expect(patchedSettings(given, { min_workers: null, external_stop: null })).toEqual({ idle_timeout_seconds: 60 })
    expect(patchedSettings(given, {})).toEqual(given)
  })

  it.each([
    { color: 'red' },
    { min_workers: -1 },
    { min_workers: 1.5 },
    { min_workers: '3' },
    { idle_action: 'sleep' },
    { idle_timeout_seconds: 30 * 86_400 + 1 },
    { journal_retention_days: 0 },
    { scale_up_enabled: 'yes' },
  ])('refuses %j', patch => {
    expect(SettingsPatch.safeParse(patch).success).toBe(false)
  })
})
