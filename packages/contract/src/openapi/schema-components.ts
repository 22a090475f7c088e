import { z } from 'zod'
import { Problem } from '../problems.ts'
import type { RouteSpec } from '../routes.ts'
import type { JsonSchema, Schemas } from './document-types.ts'

/** Request schemas make fields with defaults optional; response schemas do not. */
export type Direction = 'input' | 'output'

export interface SchemaComponents {
  readonly components: Schemas
  /** The schema itself, or a reference if it has an id. */
  of(schema: z.ZodType, direction: Direction): JsonSchema
}

interface Draft {
  readonly root: JsonSchema
  readonly defs: Schemas
}

const DEFS = '#/$defs/'
export const COMPONENT_SCHEMAS = '#/components/schemas/'

/** The schemas of all routes. A schema that differs between requests and responses has a variant `…Input`. */
export function schemaComponents(routes: readonly RouteSpec[]): SchemaComponents {
  const draft = cachedDrafts()
  const defs: Record<Direction, Record<string, JsonSchema>> = { input: {}, output: {} }
  for (const [schema, direction] of usesOf(routes)) Object.assign(defs[direction], draft(schema, direction).defs)
  const twins = twinsOf(defs.input, defs.output)
  const placed = (schema: JsonSchema, direction: Direction) =>
    mapReferences(
      schema,
      name => COMPONENT_SCHEMAS + (direction === 'input' && twins.has(name) ? `${name}Input` : name),
    )

  const components: Record<string, JsonSchema> = {}
  for (const [name, schema] of Object.entries(defs.output)) components[name] = placed(schema, 'output')
  for (const [name, schema] of Object.entries(defs.input)) {
    components[twins.has(name) ? `${name}Input` : name] = placed(schema, 'input')
  }
  return {
    components: sorted(components),
    of: (schema, direction) => placed(draft(schema, direction).root, direction),
  }
}

function usesOf(routes: readonly RouteSpec[]): [z.ZodType, Direction][] {
  const uses: [z.ZodType, Direction][] = [[Problem, 'output']]
  for (const { query, body, answer } of routes) {
    for (const field of queryFields(query)) uses.push([field.schema, 'output'])
    if (body) uses.push([body, 'input'])
    if (answer) uses.push([answer, 'output'])
  }
  return uses
}

export interface QueryField {
  readonly name: string
  readonly schema: z.ZodType
  readonly required: boolean
}

export const queryFields = (query: z.ZodObject | undefined): QueryField[] =>
  Object.entries(query?.shape ?? {}).map(([name, field]) => {
    const schema = field as z.ZodType
    return { name, schema, required: !schema.safeParse(undefined).success }
  })

/** Many routes share a few large schemas, and each takes long to convert. */
function cachedDrafts(): (schema: z.ZodType, direction: Direction) => Draft {
  const drafts = { input: new Map<z.ZodType, Draft>(), output: new Map<z.ZodType, Draft>() }
  return (schema, direction) => {
    const draft = drafts[direction].get(schema) ?? draftOf(schema, direction)
    drafts[direction].set(schema, draft)
    return draft
  }
}

function draftOf(schema: z.ZodType, direction: Direction): Draft {
  const options = { io: direction, unrepresentable: 'any', override: simplify(direction) } as const
  const { $schema: _, $defs = {}, ...root } = JSON.parse(JSON.stringify(z.toJSONSchema(schema, options)))
  return { root, defs: $defs }
}

/** Narrows `date-time` to UTC with milliseconds; the format itself checks the rest, such as leap years. */
const INSTANT = {
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z$',
  'x-lcm-format': 'UTC, with milliseconds and `Z`',
}

/** Clients in Go read larger integers only with `int64`, and money only with `double`. */
const INT32_MAX = 2 ** 31 - 1
const ONLY_NULL = { type: ['string', 'null'], const: null }

interface OverrideContext {
  readonly zodSchema: z.core.$ZodType
  readonly jsonSchema: z.core.JSONSchema.BaseSchema
  readonly path: readonly (string | number)[]
}

/** Removes what readers and client generators cannot use. */
const simplify =
  (direction: Direction) =>
  ({ zodSchema, jsonSchema, path }: OverrideContext): void => {
    const words = wordsForPattern(zodSchema)
    if (words !== undefined && jsonSchema.pattern !== undefined) jsonSchema['x-lcm-format'] = words
    if (jsonSchema.format === 'date-time') Object.assign(jsonSchema, INSTANT)
    if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
    // Responses may gain fields, which clients must accept.
    if (direction === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    if (jsonSchema.anyOf && new Set(jsonSchema.anyOf.map(option => JSON.stringify(option))).size === 1) {
      const [only] = jsonSchema.anyOf
      delete jsonSchema.anyOf
      Object.assign(jsonSchema, only)
    }
    moveObjectDefault(jsonSchema)
    if (jsonSchema.type === 'number') jsonSchema.format = 'double'
    if (jsonSchema.type === 'integer' && (jsonSchema.maximum ?? INT32_MAX + 1) > INT32_MAX) jsonSchema.format = 'int64'
    // Client generators know null only as an alternative to another type.
    if (jsonSchema.type === 'null' && path.at(-2) !== 'anyOf') Object.assign(jsonSchema, ONLY_NULL)
    if (jsonSchema.example === undefined) return
    jsonSchema.examples ??= [jsonSchema.example as z.core.JSONSchema.BaseSchema]
    delete jsonSchema.example
  }

/** Client generators cannot write an object as a default, so it becomes an extension. */
function moveObjectDefault(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  const { default: preset } = jsonSchema
  if (typeof preset !== 'object' || preset === null) return
  delete jsonSchema.default
  jsonSchema['x-lcm-default'] = preset
}

/** The message of the check is the pattern in words. */
function wordsForPattern({ _zod: { def } }: z.core.$ZodType): string | undefined {
  for (const { _zod: check } of def.checks ?? []) {
    if (!('pattern' in check.def) || !check.def.error) continue
    const say = check.def.error as (issue: object) => ReturnType<z.core.$ZodErrorMap>
    const words = say({})
    return typeof words === 'string' ? words : words?.message
  }
  return undefined
}

/** Names whose schemas differ between requests and responses, directly or by reference. */
function twinsOf(input: Schemas, output: Schemas): ReadonlySet<string> {
  const shared = Object.entries(input).flatMap(([name, request]) => {
    const response = output[name]
    return response ? [{ name, request, response }] : []
  })
  const twins = new Set<string>()
  const isTwin = ({ request, response }: { request: JsonSchema; response: JsonSchema }) =>
    JSON.stringify(request) !== JSON.stringify(response) || [...referencesIn(request)].some(name => twins.has(name))
  for (let before = -1; before < twins.size; ) {
    before = twins.size
    for (const pair of shared) if (isTwin(pair)) twins.add(pair.name)
  }
  return twins
}

function referencesIn(schema: JsonSchema): ReadonlySet<string> {
  const found = new Set<string>()
  mapReferences(schema, name => {
    found.add(name)
    return name
  })
  return found
}

const mapReferences = (schema: JsonSchema, renamed: (name: string) => string): JsonSchema =>
  JSON.parse(JSON.stringify(schema), (key, value) =>
    key === '$ref' && typeof value === 'string' && value.startsWith(DEFS) ? renamed(value.slice(DEFS.length)) : value,
  )

const sorted = (schemas: Schemas): Schemas =>
  Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
