import { toInstant } from '@lcm/domain/instant'

/**
 * Readers of untrusted responses. They never throw, and a missing or invalid value is null: servers have many versions,
 * and not every server is CML. Only own members count, whatever their names.
 */
export function jsonIn(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}

export type Fields = Readonly<Record<string, unknown>>

export const recordIn = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.assign(Object.create(null), value)
    : null

export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : null

export function textIn(value: unknown, name: string): string | null {
  const field = fieldOf(value, name)
  return typeof field === 'string' ? field : null
}

/** Finite and not negative, as all counts of CML. */
export function numberIn(value: unknown, name: string): number | null {
  const field = fieldOf(value, name)
  return typeof field === 'number' && Number.isFinite(field) && field >= 0 ? field : null
}

export function flagIn(value: unknown, name: string): boolean | null {
  const field = fieldOf(value, name)
  return typeof field === 'boolean' ? field : null
}

/** Empty for a value that is not a list. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The values of an object that is keyed by id; some versions send a list instead. */
export function valuesOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return typeof value === 'object' && value !== null ? Object.values(value) : []
}

const MOMENT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?) ?(Z|[+-]\d{2}:?\d{2})?$/i

/** CML writes timestamps in several formats, often without a zone, which means UTC. */
export function instantIn(value: unknown, name: string): string | null {
  const [, day, time, zone = 'Z'] = MOMENT.exec(textIn(value, name) ?? '') ?? []
  const ms = Date.parse(`${day}T${time}${zone.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')}`)
  return Number.isNaN(ms) ? null : toInstant(ms)
}
