import * as decision from '@lcm/domain/decision'
import * as definition from '@lcm/domain/definition/lablet-definition'
import * as fencing from '@lcm/domain/fencing'
import * as leak from '@lcm/domain/fleet/license-leak'
import * as instances from '@lcm/domain/fleet/service-instance'
import * as settings from '@lcm/domain/fleet/settings'
import * as instant from '@lcm/domain/instant'
import * as labRecord from '@lcm/domain/lab/lab-record'
import * as ports from '@lcm/domain/lab/ports'
import * as topology from '@lcm/domain/lab/topology'
import * as session from '@lcm/domain/session/lablet-session'
import * as template from '@lcm/domain/template/worker-template'
import * as token from '@lcm/domain/token'
import * as machine from '@lcm/domain/worker/instance'
import * as parts from '@lcm/domain/worker/parts'
import * as worker from '@lcm/domain/worker/worker'
import { z } from 'zod'
import * as labletBodies from '../definition.ts'
import * as events from '../events.ts'
import * as problems from '../problems.ts'
import type { RouteSpec } from '../routes.ts'
import * as fleetBodies from '../template.ts'
import * as bodies from '../token.ts'
import * as workerBodies from '../worker-bodies.ts'
import { noteOf } from './field-notes.ts'
import type { JsonSchema, Schemas } from './types.ts'

/** A schema that one of these exports is a component of the document, named as it is exported; the first name wins. */
const DOMAIN = [
  ...[instant, fencing, decision, worker, parts, machine, template, token, leak, instances, settings],
  ...[definition, topology, ports, session, labRecord],
]
const CONTRACT = [bodies, workerBodies, fleetBodies, labletBodies, events, problems]

/** Requests are described as they may be written, answers as they come. */
export type Direction = 'input' | 'output'

export interface SchemaBook {
  readonly components: Schemas
  /** The schema itself, or a reference when it has a name. */
  of(schema: z.ZodType, direction: Direction): JsonSchema
}

interface Draft {
  readonly root: JsonSchema
  readonly defs: Schemas
}

const DEFS = '#/$defs/'
export const COMPONENT_SCHEMAS = '#/components/schemas/'

/** Describes every schema that the routes use. What reads otherwise in a request than in an answer has a twin, `…Input`. */
export function schemaBook(routes: readonly RouteSpec[]): SchemaBook {
  const drafted = drafting()
  const defs: Record<Direction, Record<string, JsonSchema>> = { input: {}, output: {} }
  for (const [schema, direction] of usesOf(routes)) Object.assign(defs[direction], drafted(schema, direction).defs)
  const twins = twinsOf(defs.input, defs.output)
  const placed = (schema: JsonSchema, direction: Direction) =>
    mapReferences(
      schema,
      name => COMPONENT_SCHEMAS + (direction === 'input' && twins.has(name) ? `${name}Input` : name),
    )

  const components: Record<string, JsonSchema> = {}
  for (const [name, schema] of Object.entries(defs.output)) components[name] = annotated(placed(schema, 'output'), name)
  for (const [name, schema] of Object.entries(defs.input)) {
    components[twins.has(name) ? `${name}Input` : name] = annotated(placed(schema, 'input'), name)
  }
  return {
    components: sorted(components),
    of: (schema, direction) => placed(drafted(schema, direction).root, direction),
  }
}

function usesOf(routes: readonly RouteSpec[]): [z.ZodType, Direction][] {
  const uses: [z.ZodType, Direction][] = [[problems.Problem, 'output']]
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

/** Names beside what each schema says of itself. */
function drafting(): (schema: z.ZodType, direction: Direction) => Draft {
  const names = schemaNames()
  const metadata = Object.assign(z.registry<z.core.GlobalMeta>(), {
    get(schema: z.core.$ZodType) {
      const id = names.get(schema)
      const own = z.globalRegistry.get(schema)
      return id === undefined ? own : { ...own, id }
    },
  })
  // Most routes share a few large schemas, and each takes long to describe.
  const drafts = { input: new Map<z.ZodType, Draft>(), output: new Map<z.ZodType, Draft>() }
  return (schema, direction) => {
    const draft = drafts[direction].get(schema) ?? draftOf(schema, direction, metadata)
    drafts[direction].set(schema, draft)
    return draft
  }
}

function draftOf(schema: z.ZodType, direction: Direction, metadata: z.core.$ZodRegistry<z.core.GlobalMeta>): Draft {
  const options = { io: direction, metadata, unrepresentable: 'any', override: tidy(direction) } as const
  const { $schema: _, $defs = {}, ...root } = JSON.parse(JSON.stringify(z.toJSONSchema(schema, options)))
  return { root, defs: $defs }
}

export function schemaNames(): ReadonlyMap<z.core.$ZodType, string> {
  const names = new Map<z.core.$ZodType, string>()
  for (const [name, value] of [...DOMAIN, ...CONTRACT].flatMap(module => Object.entries<unknown>({ ...module }))) {
    if (value instanceof z.ZodType && !names.has(value)) names.set(value, name)
  }
  const views = new Set([...names.values()].filter(name => name.endsWith('View')).map(name => name.slice(0, -4)))
  return new Map([...names].map(([schema, name]) => [schema, publicName(name, views)]))
}

/** People only meet the view of a thing, so that has its name. */
const publicName = (name: string, views: ReadonlySet<string>): string =>
  views.has(name) ? `${name}Record` : name.replace(/View$/, '')

/** Of all that the format allows only this: UTC with milliseconds. What is left unsaid here, such as leap years, it says. */
const INSTANT = {
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z$',
  'x-lcm-format': 'UTC, with milliseconds and `Z`',
}

/** Leaves out what says nothing to a reader. */
const tidy =
  (direction: Direction) =>
  ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: z.core.JSONSchema.BaseSchema }): void => {
    const words = wordsForPattern(zodSchema)
    if (words !== undefined && jsonSchema.pattern !== undefined) jsonSchema['x-lcm-format'] = words
    if (jsonSchema.format === 'date-time') Object.assign(jsonSchema, INSTANT)
    if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
    // Answers may gain fields, and no client should refuse them for that.
    if (direction === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    if (jsonSchema.anyOf && new Set(jsonSchema.anyOf.map(option => JSON.stringify(option))).size === 1) {
      const [only] = jsonSchema.anyOf
      delete jsonSchema.anyOf
      Object.assign(jsonSchema, only)
    }
    if (jsonSchema.example === undefined) return
    jsonSchema.examples ??= [jsonSchema.example as z.core.JSONSchema.BaseSchema]
    delete jsonSchema.example
  }

/** What the schema says to whoever does not match it. */
function wordsForPattern({ _zod: { def } }: z.core.$ZodType): string | undefined {
  for (const { _zod: check } of def.checks ?? []) {
    if (!('pattern' in check.def) || !check.def.error) continue
    const say = check.def.error as (issue: object) => ReturnType<z.core.$ZodErrorMap>
    const words = say({})
    return typeof words === 'string' ? words : words?.message
  }
  return undefined
}

/** Names that mean one thing in a request and another in an answer, by themselves or by what they refer to. */
function twinsOf(input: Schemas, output: Schemas): ReadonlySet<string> {
  const shared = Object.entries(input).flatMap(([name, asked]) => {
    const answered = output[name]
    return answered ? [{ name, asked, answered }] : []
  })
  const twins = new Set<string>()
  const isTwin = ({ asked, answered }: { asked: JsonSchema; answered: JsonSchema }) =>
    JSON.stringify(asked) !== JSON.stringify(answered) || [...referencesIn(asked)].some(name => twins.has(name))
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

/** Adds what the notes say of a field that says nothing of itself. */
function annotated(schema: JsonSchema, owner: string): JsonSchema {
  const branch = (options: readonly JsonSchema[]) => options.map(option => annotated(option, owner))
  return {
    ...schema,
    ...(schema.anyOf ? { anyOf: branch(schema.anyOf) } : {}),
    ...(schema.oneOf ? { oneOf: branch(schema.oneOf) } : {}),
    ...(schema.items ? { items: annotated(schema.items, owner) } : {}),
    ...(schema.properties ? { properties: annotatedFields(schema.properties, owner) } : {}),
  }
}

const annotatedFields = (properties: Schemas, owner: string): Schemas =>
  Object.fromEntries(
    Object.entries(properties).map(([field, property]) => {
      const description = property.description ?? noteOf(owner, field).description
      const inner = annotated(property, `${owner}.${field}`)
      return [field, description === undefined ? inner : { ...inner, description }]
    }),
  )

const sorted = (schemas: Schemas): Schemas =>
  Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
