import type { BodyInput } from '@lcm/contract/routes'
import { type SettingName, type SettingSource, wordOfSetting } from '@lcm/domain/fleet/settings'
import { durationText } from '@lcm/domain/text/format-amounts'
import { choicesOf, isText, SETTING_DOCS, type Unit } from './setting-docs.ts'

export type SettingValue = boolean | number | string

const UNIT_MS: Readonly<Partial<Record<Unit, number>>> = { seconds: 1_000, minutes: 60_000 }

/** Value as text in the form. */
export const draftOf = (value: SettingValue): string =>
  typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value)

/** Value with its unit: `3600 seconds`. */
export function valueText(name: SettingName, value: SettingValue): string {
  const { unit } = SETTING_DOCS[name]
  return unit === undefined || value === wordOfSetting(name) ? draftOf(value) : `${draftOf(value)} ${unit}`
}

/** The value in larger units, such as `1h 00m`; empty when that adds nothing. */
export function sameAs(name: SettingName, draft: string): string {
  const { unit } = SETTING_DOCS[name]
  const unitMs = unit === undefined ? undefined : UNIT_MS[unit]
  const amount = Number(draft)
  if (unitMs === undefined || draft.trim() === '' || !Number.isFinite(amount) || amount * unitMs < 60_000) return ''
  return unit === 'minutes' && amount < 60 ? '' : durationText(amount * unitMs)
}

/** Parses the input; null when it is empty, or not the number that it must be. The API validates the rest. */
export function typedValue(name: SettingName, draft: string): SettingValue | null {
  const choices = choicesOf(name)
  if (choices?.[0] === 'on') return draft === 'on'
  if (choices !== null) return draft
  if (isText(name)) return draft.trim() === '' ? null : draft.trim()
  const word = draft.trim().toLowerCase()
  if (word === wordOfSetting(name)) return word
  const amount = Number(draft)
  return draft.trim() === '' || !Number.isFinite(amount) ? null : amount
}

interface Setting {
  readonly value: SettingValue
  readonly source: SettingSource
}

/** Warning before another user's change is overwritten; null when nothing changed. */
export const changedText = (name: SettingName, before: Setting, now: Setting): string | null =>
  before.value === now.value && before.source === now.source
    ? null
    : `Another user changed this setting to ${valueText(name, now.value)} (${SOURCE_TEXTS[now.source]}). Save again to overwrite it.`

/** Null resets the setting to the environment or the default. */
export const patchOf = (name: SettingName, value: SettingValue | null): BodyInput<'patchSettings'> =>
  ({ [name]: value }) as BodyInput<'patchSettings'>

export const SOURCE_TEXTS: Readonly<Record<SettingSource, string>> = {
  given: 'set here',
  environment: 'environment',
  default: 'default',
}
