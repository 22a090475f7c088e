import { SETTING_DEFAULTS, SettingsPatch, SettingValues, wordOfSetting } from '@lcm/domain/fleet/settings'
import { describe, expect, it } from 'vitest'
import { choicesOf, SETTING_DOCS, SETTING_GROUPS } from './setting-docs.ts'
import { changedText, draftOf, patchOf, sameAs, typedValue, valueText } from './setting-values.ts'

const NAMES = SettingValues.keyof().options

describe('every setting', () => {
  it('is shown once, with a sentence', () => {
    expect(SETTING_GROUPS.flatMap(group => group.names).toSorted()).toEqual(NAMES.toSorted())
    for (const name of NAMES) expect(SETTING_DOCS[name].text).toMatch(/^\w.*\.$/)
  })

  it('that is a number has a unit, and every other but a text has choices', () => {
    for (const name of NAMES) {
      const isNumber = typeof SETTING_DEFAULTS[name] === 'number' || wordOfSetting(name) !== null
      expect([name, SETTING_DOCS[name].unit !== undefined]).toEqual([name, isNumber])
      expect([name, choicesOf(name) === null]).toEqual([name, isNumber || name === 'auto_approve'])
    }
  })

  it('survives a round trip through the form, in a valid patch', () => {
    for (const name of NAMES) {
      const value = typedValue(name, draftOf(SETTING_DEFAULTS[name]))
      expect([name, value]).toEqual([name, SETTING_DEFAULTS[name]])
      expect(SettingsPatch.safeParse(patchOf(name, value)).success).toBe(true)
      expect(SettingsPatch.safeParse(patchOf(name, null)).success).toBe(true)
    }
  })
})

describe('the input', () => {
  it('is never sent as null, which would reset it', () => {
    for (const draft of ['', '  ', 'soon', '1e999']) expect(typedValue('min_workers', draft)).toBeNull()
    expect(typedValue('min_workers', '-3')).toBe(-3)
    expect(typedValue('min_workers', '0')).toBe(0)
  })

  it('may be auto in the boot lead only', () => {
    expect(typedValue('boot_lead_minutes', 'Auto')).toBe('auto')
    expect(typedValue('boot_lead_minutes', '15')).toBe(15)
    expect(typedValue('boot_lead_minutes', 'unlimited')).toBeNull()
    expect(typedValue('min_workers', 'auto')).toBeNull()
  })

  it('may be the word of its setting', () => {
    expect(typedValue('quota_user_live_sessions', ' Unlimited ')).toBe('unlimited')
    expect(typedValue('quota_user_live_sessions', '3')).toBe(3)
    expect(typedValue('quota_user_live_sessions', 'many')).toBeNull()
    expect(typedValue('min_workers', 'unlimited')).toBeNull()
    expect(typedValue('scale_down_cooldown_seconds', 'Off')).toBe('off')
    expect(typedValue('scale_down_cooldown_seconds', 'unlimited')).toBeNull()
    expect(typedValue('scale_down_max_share', '0.5')).toBe(0.5)
  })

  it('is shown in larger units too', () => {
    expect(sameAs('idle_timeout_seconds', '5400')).toBe('1h 30m')
    expect(sameAs('boot_lead_minutes', '20')).toBe('')
    expect(sameAs('boot_lead_minutes', '90')).toBe('1h 30m')
    expect(sameAs('idle_timeout_seconds', '')).toBe('')
    expect(sameAs('min_workers', '100')).toBe('')
  })
})

it('formats values as text', () => {
  expect(valueText('idle_detection_enabled', true)).toBe('on')
  expect(valueText('idle_timeout_seconds', 60)).toBe('60 seconds')
  expect(valueText('idle_action', 'pause')).toBe('pause')
  expect(valueText('boot_lead_minutes', 'auto')).toBe('auto')
  expect(valueText('quota_user_live_sessions', 2)).toBe('2 sessions')
  expect(valueText('quota_user_live_sessions', 'unlimited')).toBe('unlimited')
})

it('warns when another user changed the setting during an edit', () => {
  const before = { value: 30, source: 'default' } as const
  const warningFor = (now: Parameters<typeof changedText>[1]) => changedText('journal_retention_days', before, now)
  expect(warningFor({ value: 30, source: 'default' })).toBeNull()
  expect(warningFor({ value: 44, source: 'given' })).toBe(
    'Another user changed this setting to 44 days (set here). Save again to overwrite it.',
  )
  expect(warningFor({ value: 30, source: 'given' })).toContain('to 30 days (set here)')
})
