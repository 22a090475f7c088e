import { z } from 'zod'

type Check = (value: unknown) => boolean

/**
 * Reads documents back. What has every field of its schema was written by this version and is taken as it is; what lacks one
 * is from an older version and is parsed in full, which gives it the defaults.
 */
export function readStored<T>(schema: z.ZodType<T>): (body: unknown) => T {
  const isWhole = wholeness(schema)
  return body => (isWhole(body) ? (body as T) : schema.parse(body))
}

/** Looks into objects but not into lists and maps: their elements came from people, not from us. */
function wholeness(schema: z.core.$ZodType): Check {
  if (schema instanceof z.ZodDefault) return wholeness(schema.def.innerType)
  if (schema instanceof z.ZodNullable) {
    const inner = wholeness(schema.def.innerType)
    return value => value === null || inner(value)
  }
  if (schema instanceof z.ZodOptional) return () => true
  if (!(schema instanceof z.ZodObject)) return value => value !== undefined
  const fields = Object.entries(schema.shape).map(([name, field]) => ({ name, check: wholeness(field) }))
  return value => {
    if (typeof value !== 'object' || value === null) return false
    return fields.every(({ name, check }) => check((value as Record<string, unknown>)[name]))
  }
}
