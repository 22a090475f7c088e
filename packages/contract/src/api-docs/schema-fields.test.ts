import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../openapi/document-types.ts'
import { html } from './safe-html.ts'
import { fieldLine, fieldList, limitsOf, typeOf } from './schema-fields.ts'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const schemas: Record<string, JsonSchema> = {
  Worker: { type: 'object', properties: { id: { type: 'string' } } },
  Name: { type: 'string', minLength: 1, maxLength: 8 },
  Instant: { type: 'string', format: 'date-time' },
}
const words = (schema: JsonSchema) => html`${typeOf(schema, schemas)}`.markup

describe('a type in words', () => {
  it.each<[JsonSchema, string]>([
    [{ type: 'string' }, 'string'],
    [{ type: ['string', 'null'] }, 'string or null'],
    [{ type: 'array', items: ref('Name') }, 'array of string'],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, 'map of integer'],
    [{ enum: ['A', 'B'] }, 'one of <code>A</code>, <code>B</code>'],
    [{ const: 'only' }, '&quot;only&quot;'],
    [{ anyOf: [ref('Worker'), { type: 'null' }] }, '<a href="#schema-Worker">Worker</a> or null'],
    [ref('Instant'), 'instant'],
    [{}, 'anything'],
  ])('%j', (schema, expected) => {
    expect(words(schema)).toBe(expected)
  })
})

describe('limits in words', () => {
  it.each<[JsonSchema, string[]]>([
    [{ minLength: 1, maxLength: 8 }, ['1 to 8 characters']],
    [{ minLength: 64, maxLength: 64 }, ['exactly 64 characters']],
    [{ maxItems: 3 }, ['at most 3 items']],
    [{ minimum: 8, exclusiveMinimum: 0 }, ['at least 8', 'more than 0']],
    [{ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, ['at least 1']],
    [{ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, []],
    [{ pattern: '^a' }, ['matches `^a`']],
    [{ pattern: '^a', 'x-lcm-format': 'begins with a' }, ['begins with a']],
    [{ anyOf: [{ type: 'integer', maximum: 9 }, { type: 'null' }] }, ['at most 9']],
    [{}, []],
  ])('%j', (schema, expected) => {
    expect(limitsOf(schema)).toEqual(expected)
  })
})

describe('a line', () => {
  const line = (schema: JsonSchema, required = false) => fieldLine({ name: 'f', required }, schema, schemas).markup

  it('shows the description, the limits and the default', () => {
    expect(line({ ...ref('Name'), description: 'A name.', default: 'x' })).toContain(
      '<p>A name. 1 to 8 characters; default <code>&quot;x&quot;</code>.</p>',
    )
    expect(line({ type: 'string' })).not.toContain('<p>')
  })

  it('marks a required field, which has no default', () => {
    expect(line({ type: 'boolean', default: true }, true)).toContain('required')
    expect(line({ type: 'boolean', default: true }, true)).not.toMatch(/default/i)
    expect(line({ type: 'boolean', default: true })).not.toContain('required')
  })

  it('shows nested fields, unless the schema has its own section', () => {
    expect(line({ type: 'object', properties: { inner: { type: 'string' } } })).toContain('>inner<')
    expect(line(ref('Worker'))).not.toContain('>id<')
    expect(fieldList(ref('Worker'), schemas).markup).toContain('>id<')
  })

  it('shows the fields of every member of a union', () => {
    const union = { anyOf: [ref('Worker'), { type: 'object', properties: { other: {} } }] }
    expect(fieldList(union, schemas).markup).toMatch(/>id<[\s\S]*>other</)
  })

  it('escapes texts of schemas', () => {
    expect(line({ type: '<i>', description: '<b>', default: '<u>', enum: ['<s>'] })).not.toMatch(/<[bius]>/)
  })
})
