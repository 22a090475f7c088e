/** Readers of responses: a missing member is null or empty. */
export const recordIn = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {}

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null)

export const numberIn = (value: unknown): number | null => (typeof value === 'number' ? value : null)

export const flagIn = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null)

/** Converts CML's timestamps, with or without a zone, to ISO 8601 in UTC. */
export function instantIn(value: unknown): string | null {
  const text = textIn(value)
  if (text === null) return null
  const zoned = /[Zz]|[+-]\d\d:?\d\d$/.test(text) ? text : `${text.replace(' ', 'T')}Z`
  const at = Date.parse(zoned)
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}
