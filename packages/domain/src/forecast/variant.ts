import { type SettingName, SettingValues } from '../fleet/settings.ts'
import type { FleetCalendar } from './fleet-calendar.ts'

/** What a forecast assumes instead of what is set. */
export interface Variant {
  readonly settings: Partial<SettingValues>
  /** Only machines of this template are bought; null for any. */
  readonly template: string | null
}

export const AS_SET: Variant = { settings: {}, template: null }

/** A problem is a sentence for people. */
export type ParsedVariant = { readonly variant: Variant } | { readonly problem: string }

const TEMPLATE = 'template'

/** Reads `setting=value,...`, where `template=NAME` buys only that template. */
export function parseVariant(text: string, templates: readonly string[]): ParsedVariant {
  let variant = AS_SET
  for (const part of text.split(',')) {
    const [name = '', ...values] = part.split('=').map(each => each.trim())
    if (values.length !== 1) return { problem: `"${part}" is not setting=value.` }
    const read = name === TEMPLATE ? readTemplate(values[0] ?? '', templates) : readSetting(name, values[0] ?? '')
    if ('problem' in read) return read
    const { settings, template } = read.variant
    variant = { settings: { ...variant.settings, ...settings }, template: template ?? variant.template }
  }
  return { variant }
}

function readTemplate(name: string, templates: readonly string[]): ParsedVariant {
  if (templates.includes(name)) return { variant: { settings: {}, template: name } }
  return { problem: `There is no template ${name}. Templates: ${templates.join(', ') || 'none'}.` }
}

function readSetting(name: string, text: string): ParsedVariant {
  if (!Object.hasOwn(SettingValues.shape, name))
    return { problem: `There is no setting ${name}. See them with \`lcm get settings\`, or use template=NAME.` }
  const setting = name as SettingName
  const schema = SettingValues.shape[setting]
  for (const value of [text, ...asJson(text)]) {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { variant: { settings: { [setting]: parsed.data }, template: null } }
  }
  const issue = schema.safeParse(asJson(text)[0] ?? text).error?.issues[0]?.message ?? 'not a valid value'
  return { problem: `${name} can't be ${text || 'empty'}: ${issue}.` }
}

/** Numbers and booleans. */
function asJson(text: string): unknown[] {
  if (/^(true|false)$/.test(text)) return [text === 'true']
  return /^-?\d+(\.\d+)?$/.test(text) ? [Number(text)] : []
}

/** The calendar as it would be with the variant. */
export const withVariant = (calendar: FleetCalendar, { settings, template }: Variant): FleetCalendar => ({
  ...calendar,
  settings: { ...calendar.settings, ...settings },
  templates:
    template === null
      ? calendar.templates
      : calendar.templates.map(each => ({ ...each, enabled: each.name === template })),
})
