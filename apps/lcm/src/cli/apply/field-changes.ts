import { isDeepStrictEqual } from 'node:util'

/** One field that differs. */
export interface Change {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

/** The given fields that differ from the current ones. Records are compared entry by entry. */
export const changesOf = (current: object, given: object): Change[] =>
  Object.entries(given).flatMap(([field, to]) => changeOf(field, fieldOf(current, field), to))

const fieldOf = (thing: object, name: string): unknown => Object.entries(thing).find(([key]) => key === name)?.[1]

function changeOf(field: string, from: unknown, to: unknown): Change[] {
  if (to === undefined || isDeepStrictEqual(from, to)) return []
  if (!isRecord(from) || !isRecord(to)) return [{ field, from, to }]
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  return names.flatMap(name =>
    isDeepStrictEqual(from[name], to[name]) ? [] : [{ field: `${field}.${name}`, from: from[name], to: to[name] }],
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const SHOWN_MAX = 60

/** Such as `cost_per_hour_usd: 3.9 → 4.2`; of long texts only the number of lines. */
export const changeLine = ({ field, from, to }: Change): string => `${field}: ${shown(from)} → ${shown(to)}`

function shown(value: unknown): string {
  if (value === undefined) return '(none)'
  if (typeof value === 'string' && value.includes('\n')) return `${value.trimEnd().split('\n').length} lines`
  const text = JSON.stringify(value)
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`
}
