import { toMs } from '@lcm/domain/instant'
import { timestampText } from '../../state/time-format.ts'

export interface FieldChange {
  readonly name: string
  /** Null when the field was absent. */
  readonly before: string | null
  readonly after: string | null
}

type Fields = Readonly<Record<string, unknown>>

/** Changed fields as text. Nested objects are compared field by field. */
export const changesOf = ({ before, after }: { readonly before: Fields; readonly after: Fields }): FieldChange[] =>
  changesIn(before, after, '')

function changesIn(before: Fields, after: Fields, path: string): FieldChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.flatMap(key => {
    const [was, is, name] = [before[key], after[key], `${path}${wordsOf(key)}`]
    if (isObject(was) && isObject(is)) return changesIn(was, is, `${name}: `)
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [{ name, before: shortText(was), after: shortText(is) }]
  })
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const wordsOf = (name: string): string => name.replaceAll('_', ' ')

const VALUE_CHARS_MAX = 120

/** Shortens long values, such as a whole definition. */
function shortText(value: unknown): string | null {
  if (value === undefined) return null
  const text = valueText(value)
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function valueText(value: unknown): string {
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(valueText).join(', ') || 'none'
  if (isObject(value)) return Object.entries(value).map(fieldText).join(', ') || 'none'
  if (typeof value === 'string' && INSTANT.test(value)) return timestampText(toMs(value))
  return String(value) || 'empty'
}

const fieldText = ([name, value]: [string, unknown]): string =>
  `${wordsOf(name)}${isObject(value) ? ':' : ''} ${valueText(value)}`
