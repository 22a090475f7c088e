import type { JsonSchema, Schemas } from '../openapi/document-types.ts'
import { typesOf } from '../openapi/generate-example.ts'
import { COMPONENT_SCHEMAS } from '../openapi/schema-components.ts'
import { type Html, html, joined, type Piece, prose } from './safe-html.ts'

export const schemaId = (name: string): string => `schema-${name}`

/** Objects and unions of objects have their own section; other schemas are shown where they are used. */
export const hasOwnSection = ({ properties, anyOf, oneOf }: JsonSchema): boolean =>
  properties !== undefined || (anyOf ?? oneOf ?? []).some(option => option.properties !== undefined)

const nameIn = ({ $ref }: JsonSchema): string => $ref?.slice(COMPONENT_SCHEMAS.length) ?? ''

/** The referenced schema, with the keywords beside the reference. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (schema.$ref === undefined) return schema
  const { $ref: _, ...beside } = schema
  return { ...schemas[nameIn(schema)], ...beside }
}

export function typeOf(schema: JsonSchema, schemas: Schemas): Piece {
  if (schema.$ref !== undefined) {
    const name = nameIn(schema)
    if (hasOwnSection(schemas[name] ?? {})) return html`<a href="#${schemaId(name)}">${name}</a>`
    return typeOf(resolved(schema, schemas), schemas)
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum)
    return [
      'one of ',
      joined(
        schema.enum.map(choice => html`<code>${String(choice)}</code>`),
        ', ',
      ),
    ]
  const options = schema.anyOf ?? schema.oneOf
  if (options)
    return joined(
      options.map(option => typeOf(option, schemas)),
      ' or ',
    )
  const types = typesOf(schema)
  return types.length === 0
    ? 'anything'
    : joined(
        types.map(type => plainType(type, schema, schemas)),
        ' or ',
      )
}

function plainType(type: string, schema: JsonSchema, schemas: Schemas): Piece {
  if (type === 'array') return ['array of ', typeOf(schema.items ?? {}, schemas)]
  if (type === 'object' && typeof schema.additionalProperties === 'object')
    return ['map of ', typeOf(schema.additionalProperties, schemas)]
  return type === 'string' && schema.format === 'date-time' ? 'instant' : type
}

/** The limits of a value in words. */
export function limitsOf(outer: JsonSchema): string[] {
  const options = (outer.anyOf ?? outer.oneOf ?? []).filter(option => option.type !== 'null')
  const schema = options.length === 1 ? { ...options[0], ...outer } : outer
  const limits = [
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minItems, schema.maxItems, 'items'),
    range(shownLimit(schema.minimum), shownLimit(schema.maximum), ''),
    schema.exclusiveMinimum === undefined ? '' : `more than ${schema.exclusiveMinimum}`,
    schema['x-lcm-format'] ?? (schema.pattern === undefined ? '' : `matches \`${schema.pattern}\``),
  ]
  return limits.filter(limit => limit !== '')
}

/** The range of safe integers is not worth showing. */
const shownLimit = (limit: number | undefined): number | undefined =>
  limit !== undefined && Math.abs(limit) === Number.MAX_SAFE_INTEGER ? undefined : limit

function range(min: number | undefined, max: number | undefined, unit: string): string {
  const count = min === undefined ? `at most ${max}` : max === undefined ? `at least ${min}` : `${min} to ${max}`
  if (min === undefined && max === undefined) return ''
  return min !== undefined && min === max ? `exactly ${min} ${unit}`.trim() : `${count} ${unit}`.trim()
}

export interface Field {
  readonly name: string
  readonly required: boolean
  /** Path, query or header, for a parameter. */
  readonly where?: string
}

/** One line of a list of fields or parameters. */
export function fieldLine(field: Field, schema: JsonSchema, schemas: Schemas): Html {
  const full = resolved(schema, schemas)
  const nested = schema.$ref === undefined && full.properties ? fieldList(full, schemas) : null
  const where = field.where === undefined ? null : `, ${field.where}`
  const about = aboutField(field, full)
  return html`<li><code class="name">${field.name}</code> <span class="type">${typeOf(schema, schemas)}${where}</span>
${field.required ? html`<span class="required">required</span>` : null}
${about === '' ? null : html`<p>${prose(about)}</p>`}${nested}</li>`
}

/** A required field has no visible default. */
function aboutField({ required }: Field, { description = '', ...schema }: JsonSchema): string {
  const preset = schema.default ?? schema['x-lcm-default']
  const hasDefault = !required && preset !== undefined && preset !== ''
  const limits = [...limitsOf(schema), ...(hasDefault ? [`default \`${JSON.stringify(preset)}\``] : [])].join('; ')
  const sentence = limits === '' ? '' : `${limits[0]?.toUpperCase()}${limits.slice(1)}.`
  return `${description} ${sentence}`.trim()
}

/** The fields of an object, or of every member of a union. */
export function fieldList(schema: JsonSchema, schemas: Schemas): Html {
  const full = resolved(schema, schemas)
  const options = full.anyOf ?? full.oneOf
  if (options) return html`${options.map(option => fieldList(option, schemas))}`
  if (!full.properties) return html`<p>${typeOf(schema, schemas)}</p>`
  const required = new Set(full.required)
  return html`<ul class="fields">${Object.entries(full.properties).map(([name, property]) =>
    fieldLine({ name, required: required.has(name) }, property, schemas),
  )}</ul>`
}
