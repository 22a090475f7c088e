import { expect, it } from 'vitest'
import type { JsonSchema } from './document-types.ts'
import { exampleOf } from './generate-example.ts'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const schemas: Record<string, JsonSchema> = {
  Worker: {
    type: 'object',
    properties: { id: { type: 'string', examples: ['w-1'] }, status: { ...ref('Status'), examples: ['RUNNING'] } },
  },
  Status: { type: 'string', enum: ['PENDING', 'RUNNING'] },
  Tree: { type: 'object', properties: { child: { anyOf: [ref('Tree'), { type: 'null' }] } } },
}
const shown = (schema: JsonSchema, direction: 'input' | 'output' = 'output') =>
  exampleOf(schema, { schemas, direction })

it.each<[string, JsonSchema, unknown]>([
  ['its own example first', { type: 'string', examples: ['mine'], default: 'x', enum: ['y'] }, 'mine'],
  ['its default', { type: 'integer', default: 7, enum: [1, 7] }, 7],
  ['a default that is an object', { type: 'object', 'x-lcm-default': { a: 1 } }, { a: 1 }],
  ['an example that is null', { type: ['string', 'null'], examples: [null] }, null],
  ['the first of its choices', ref('Status'), 'PENDING'],
  ['its only value', { const: 'only' }, 'only'],
  ['something rather than null', { anyOf: [{ type: 'null' }, { type: 'boolean' }] }, true],
  ['a text of its length', { type: 'string', minLength: 6 }, 'textxx'],
  ['a short text', { type: 'string', maxLength: 2 }, 'te'],
  ['a number in its range', { type: 'integer', exclusiveMinimum: 8 }, 9],
  ['a number below its limit', { type: 'number', maximum: 0.5 }, 0.5],
  ['as many as it must have', { type: 'array', items: { type: 'boolean' }, minItems: 2 }, [true, true]],
  [
    'every named key',
    { type: 'object', propertyNames: { enum: ['a', 'b'] }, additionalProperties: { const: 1 } },
    { a: 1, b: 1 },
  ],
  [
    'all parts together',
    { allOf: [{ type: 'object', properties: { a: { const: 1 } } }, ref('Worker')] },
    expect.objectContaining({ a: 1, status: 'RUNNING' }),
  ],
  ['the examples of its fields', ref('Worker'), { id: 'w-1', status: 'RUNNING' }],
])('shows %s', (_, schema, expected) => {
  expect(shown(schema)).toEqual(expected)
})

it('ends a recursive schema', () => {
  expect(JSON.stringify(shown(ref('Tree')))).toMatch(/^(\{"child":)+null\}+$/)
})

it('shows required fields and fields with examples in a request, and at least one field', () => {
  const properties = { kind: { const: 'k' }, extra: { type: 'string' }, noted: { type: 'string', examples: ['t'] } }
  expect(shown({ type: 'object', properties, required: ['kind'] }, 'input')).toEqual({ kind: 'k', noted: 't' })
  expect(shown({ type: 'object', properties: { extra: properties.extra } }, 'input')).toEqual({ extra: 'text' })
  expect(shown({ type: 'object', properties, required: ['kind'] })).toEqual({ kind: 'k', extra: 'text', noted: 't' })
})
