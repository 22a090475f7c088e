import type { JsonSchema, Schemas } from './document-types.ts'
import { COMPONENT_SCHEMAS, type Direction } from './schema-components.ts'

export interface ExampleContext {
  readonly schemas: Schemas
  readonly direction: Direction
}

/** Ends recursive schemas. */
const DEPTH_MAX = 12

/** A value of the schema. A request shows only required fields and fields with an example of their own. */
export const exampleOf = (schema: JsonSchema, context: ExampleContext): unknown => exampleAt(schema, context, 0)

function exampleAt(schema: JsonSchema, context: ExampleContext, depth: number): unknown {
  if (schema.examples !== undefined) return schema.examples[0]
  const preset = schema.default ?? schema['x-lcm-default']
  if (preset !== undefined) return preset
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.$ref !== undefined) return referencedExample(schema.$ref, context, depth)
  const options = schema.anyOf ?? schema.oneOf
  if (options) return exampleAt(options.find(option => option.type !== 'null') ?? {}, context, depth)
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(part => exampleAt(part, context, depth + 1) as object))
  return generated(schema, context, depth)
}

function referencedExample(ref: string, context: ExampleContext, depth: number): unknown {
  if (depth > DEPTH_MAX) return null
  return exampleAt(context.schemas[ref.slice(COMPONENT_SCHEMAS.length)] ?? {}, context, depth + 1)
}

function generated(schema: JsonSchema, context: ExampleContext, depth: number): unknown {
  switch (typesOf(schema).find(type => type !== 'null')) {
    case 'object':
      return schema.properties ? objectOf(schema, context, depth) : recordOf(schema, context, depth)
    case 'array':
      return Array.from({ length: Math.max(1, schema.minItems ?? 0) }, () =>
        exampleAt(schema.items ?? {}, context, depth + 1),
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

function objectOf(schema: JsonSchema, context: ExampleContext, depth: number): object {
  const all = Object.entries(schema.properties ?? {})
  const isShown = ([field, property]: [string, JsonSchema]) =>
    context.direction === 'output' || schema.required?.includes(field) || property.examples !== undefined
  const shown = all.filter(isShown)
  return Object.fromEntries(
    (shown.length > 0 ? shown : all).map(([field, property]) => [field, exampleAt(property, context, depth + 1)]),
  )
}

function recordOf(schema: JsonSchema, context: ExampleContext, depth: number): object {
  const { additionalProperties: values, propertyNames } = schema
  if (typeof values !== 'object') return {}
  const keys = (propertyNames?.enum ?? ['key']).map(String)
  return Object.fromEntries(keys.map(key => [key, exampleAt(values, context, depth + 1)]))
}

function textOf({ format, minLength = 0, maxLength = Number.MAX_SAFE_INTEGER }: JsonSchema): string {
  if (format === 'date-time') return '2026-01-02T03:04:05.678Z'
  return 'text'.padEnd(minLength, 'x').slice(0, maxLength)
}

function numberOf({ minimum, exclusiveMinimum, maximum }: JsonSchema): number {
  return Math.min(Math.max(1, minimum ?? 1, (exclusiveMinimum ?? 0) + 1), maximum ?? Number.MAX_SAFE_INTEGER)
}

export const typesOf = ({ type }: JsonSchema): readonly string[] =>
  type === undefined ? [] : typeof type === 'string' ? [type] : type
