import fc from 'fast-check'
import { z } from 'zod'

/** Texts that have caused bugs. */
export const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    '__proto__',
    'constructor',
    '-1',
    '1e309',
    'null',
    '🦊'.repeat(50),
    'x'.repeat(5_000),
  ),
  fc.constantFrom('9999-12-31T23:59:59Z', '../../etc/passwd', '<img src=x>', 'file:///etc/passwd', '%00'),
)
const oddNumber = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 2 ** 53, 1e308, 0.1))
const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  oddText,
  oddNumber,
  fc.constantFrom<unknown>(null, true, false, [], {}),
  fc.jsonValue({ maxDepth: 3 }),
)

interface Shape {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly anyOf?: readonly Shape[]
  readonly oneOf?: readonly Shape[]
  readonly allOf?: readonly Shape[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
}

const shapeOf = (schema: z.ZodType): Shape => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape

export const namesOf = (schema: z.ZodType | undefined): string[] =>
  schema === undefined ? [] : Object.keys(shapeOf(schema).properties ?? {})

/** Values that fit the schema, with a malformed one now and then. */
export const nearlyRight = (schema: z.ZodType | undefined): fc.Arbitrary<unknown> =>
  schema === undefined
    ? oddValue
    : fc.oneof({ weight: 9, arbitrary: valueFor(shapeOf(schema)) }, { weight: 1, arbitrary: oddValue })

const orOdd = (right: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 30, arbitrary: right }, { weight: 1, arbitrary: oddValue })

function valueFor(shape: Shape): fc.Arbitrary<unknown> {
  const either = shape.anyOf ?? shape.oneOf ?? shape.allOf
  if (shape.const !== undefined) return orOdd(fc.constant(shape.const))
  if (shape.enum !== undefined) return orOdd(fc.constantFrom(...shape.enum))
  if (either !== undefined) return fc.oneof(...either.map(valueFor))
  if (shape.type === 'object') return objectOf(shape)
  if (shape.type === 'array') return orOdd(fc.array(valueFor(shape.items ?? {}), { maxLength: 3 }))
  if (shape.type === 'string') return orOdd(textOf(shape))
  if (shape.type === 'integer' || shape.type === 'number')
    return orOdd(fc.integer({ min: shape.minimum ?? -5, max: atMost(shape) }))
  return shape.type === 'boolean' ? orOdd(fc.boolean()) : oddValue
}

const atMost = ({ minimum = -5, maximum = 100 }: Shape): number => Math.max(minimum, Math.min(maximum, 2 ** 31 - 1))

function objectOf({ properties = {}, required = [] }: Shape): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, shape]) => [name, valueFor(shape)]))
  return fc.record(fields, { requiredKeys: required.filter(name => name in fields) })
}

function textOf({ format, pattern, maxLength = 30 }: Shape): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc.constantFrom('2026-01-01T01:00:00.000Z', '2026-02-30T00:00:00Z', '1970-01-01T00:00:00Z')
  if (format === 'uri') return fc.constantFrom('https://127.0.0.1:1/x.zip', 'https://a:b@c', 'file:///x')
  if (pattern !== undefined)
    return fc.oneof(fc.stringMatching(new RegExp(pattern)), fc.constantFrom('metal', 'bgp', 'one', 'us-east-1'))
  return fc.oneof(
    fc.constantFrom('metal', 'bgp', 'one', 'us-east-1'),
    fc.string({ maxLength: Math.min(maxLength, 30) }),
  )
}
