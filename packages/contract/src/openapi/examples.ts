import { noteOf, ownNoteOf } from './field-notes.ts'
import { COMPONENT_SCHEMAS, type Direction } from './schemas.ts'
import type { JsonSchema, Schemas } from './types.ts'

export interface Surroundings {
  readonly schemas: Schemas
  readonly direction: Direction
  /** The schema that it is a part of, if it is one. */
  readonly owner?: string
}

/** Where a value stands: `owner` is the schema that has the field, such as `Worker` or `Worker.cml`. */
interface Place {
  readonly owner: string
  readonly field: string
}

/** Recursive schemas end somewhere. */
const DEPTH_MAX = 12

/**
 * A value of the schema, taken from what it says of itself, from the notes, or made up. In a request only what must be
 * said is said, and what a note finds worth showing.
 */
export const exampleOf = (schema: JsonSchema, around: Surroundings): unknown =>
  exampleAt(schema, { owner: around.owner ?? '', field: '' }, around, 0)

function exampleAt(schema: JsonSchema, place: Place, around: Surroundings, depth: number): unknown {
  const [own] = schema.examples ?? []
  if (own !== undefined) return own
  const { example: noted } = noteOf(place.owner, place.field)
  if (noted !== undefined && fits(noted, schema, around.schemas)) return noted
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.$ref !== undefined) return referredValue(schema.$ref, place, around, depth)
  const options = schema.anyOf ?? schema.oneOf
  if (options) return exampleAt(options.find(option => option.type !== 'null') ?? {}, place, around, depth)
  if (schema.allOf)
    return Object.assign({}, ...schema.allOf.map(part => exampleAt(part, place, around, depth + 1) as object))
  return madeUp(schema, place, around, depth)
}

function referredValue(ref: string, place: Place, around: Surroundings, depth: number): unknown {
  const name = ref.slice(COMPONENT_SCHEMAS.length)
  const target = around.schemas[name] ?? {}
  if (depth > DEPTH_MAX) return null
  const isObject = target.properties !== undefined || target.anyOf !== undefined || target.oneOf !== undefined
  return exampleAt(target, isObject ? { owner: name.replace(/Input$/, ''), field: '' } : place, around, depth + 1)
}

function madeUp(schema: JsonSchema, place: Place, around: Surroundings, depth: number): unknown {
  switch (typesOf(schema).find(type => type !== 'null')) {
    case 'object':
      return schema.properties ? objectOf(schema, place, around, depth) : recordOf(schema, place, around, depth)
    case 'array':
      return Array.from({ length: Math.max(1, schema.minItems ?? 0) }, () =>
        exampleAt(schema.items ?? {}, place, around, depth + 1),
      )
    case 'string':
      return textOf(schema)
    case 'integer':
    case 'number':
      return numberOf(schema)
    case 'boolean':
      return true
    default:
      return null
  }
}

function objectOf(schema: JsonSchema, place: Place, around: Surroundings, depth: number): object {
  const owner = place.field === '' ? place.owner : `${place.owner}.${place.field}`
  const all = Object.entries(schema.properties ?? {})
  const said =
    around.direction === 'output' ? all : all.filter(([field, property]) => isSaid(schema, owner, field, property))
  const shown = said.length > 0 ? said : all
  return Object.fromEntries(
    shown.map(([field, property]) => [field, exampleAt(property, { owner, field }, around, depth + 1)]),
  )
}

const isSaid = (schema: JsonSchema, owner: string, field: string, property: JsonSchema): boolean =>
  (schema.required ?? []).includes(field) ||
  property.examples !== undefined ||
  ownNoteOf(owner, field).example !== undefined

function recordOf(schema: JsonSchema, place: Place, around: Surroundings, depth: number): object {
  const { additionalProperties: values, propertyNames } = schema
  if (typeof values !== 'object') return {}
  const keys = (propertyNames?.enum ?? ['key']).map(String)
  return Object.fromEntries(keys.map(key => [key, exampleAt(values, place, around, depth + 1)]))
}

function textOf({ format, minLength = 0, maxLength = Number.MAX_SAFE_INTEGER }: JsonSchema): string {
  if (format === 'date-time') return '2026-01-02T03:04:05.678Z'
  return 'text'.padEnd(minLength, 'x').slice(0, maxLength)
}

function numberOf({ minimum, exclusiveMinimum, maximum }: JsonSchema): number {
  return Math.min(Math.max(1, minimum ?? 1, (exclusiveMinimum ?? 0) + 1), maximum ?? Number.MAX_SAFE_INTEGER)
}

/** Whether a note, written for a name, suits the schema that happens to have a field of that name. */
export function fits(value: unknown, schema: JsonSchema, schemas: Schemas): boolean {
  if (schema.$ref !== undefined) return fits(value, schemas[schema.$ref.slice(COMPONENT_SCHEMAS.length)] ?? {}, schemas)
  const options = schema.anyOf ?? schema.oneOf
  if (options) return options.some(option => fits(value, option, schemas))
  if (schema.enum) return schema.enum.includes(value)
  if (schema.const !== undefined) return schema.const === value
  if (typeof value === 'string' && schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value))
    return false
  const types = typesOf(schema)
  return types.length === 0 || types.some(type => isOfType(value, type))
}

export const typesOf = ({ type }: JsonSchema): readonly string[] =>
  type === undefined ? [] : typeof type === 'string' ? [type] : type

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    default:
      return typeof value === type
  }
}
