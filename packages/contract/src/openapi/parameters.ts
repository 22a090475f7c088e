import type { RouteSpec } from '../routes.ts'
import { EPOCH_HEADER } from '../wire.ts'
import { fits } from './examples.ts'
import { parameterNoteOf } from './parameter-notes.ts'
import { queryFields, type SchemaBook } from './schemas.ts'
import { areaOf } from './tags.ts'
import type { Header, Parameter, Reference } from './types.ts'

const IF_MATCH = 'Writes only if the resource is still at this version; else 412 `version_mismatch`.'

/** Quotes are asked for, yet nobody is sent away for the lack of them. */
const VERSION = '(W/)?"?[0-9]{1,15}"?'

/** Headers that several routes take. */
export const HEADER_PARAMETERS = {
  IfMatch: {
    ...header('If-Match', `The \`ETag\` you read. ${IF_MATCH} \`*\` is any version.`, '"4"'),
    schema: { type: 'string', pattern: `^(\\*|${VERSION})$`, 'x-lcm-format': 'a version in quotes, or `*`' },
  },
  IfMatchRequired: {
    ...header('If-Match', `The \`ETag\` that the write is based on. ${IF_MATCH}`, '"4"'),
    required: true,
    schema: { type: 'string', pattern: `^${VERSION}$`, 'x-lcm-format': 'a version in quotes' },
  },
  IdempotencyKey: {
    ...header(
      'Idempotency-Key',
      'Makes a repeat harmless: within 24 hours the same key on the same path gives the first answer again, marked ' +
        '`Idempotent-Replayed: true`.',
      'my-first-worker',
    ),
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: 128,
      pattern: '^[\\x20-\\x7e]+$',
      'x-lcm-format': 'printable ASCII',
    },
  },
  Epoch: {
    ...header(EPOCH_HEADER, 'The term in which the controller writes, as it registered it.', '7'),
    required: true,
    schema: { type: 'string', pattern: '^[1-9][0-9]{0,14}$', 'x-lcm-format': 'a whole number above 0' },
  },
  LastEventId: header(
    'Last-Event-ID',
    'Resume after this position: the `id` of the last event, or the `revision` of a list. Browsers send it by themselves.',
    '1042',
  ),
} as const satisfies Record<string, Parameter>

function header(name: string, description: string, example: string) {
  return { name, in: 'header', required: false, description, schema: { type: 'string' }, example } as const
}

/** Headers of answers. */
export const ANSWER_HEADERS = {
  ETag: {
    description: 'The version of the resource in quotes. Send it back as `If-Match`.',
    required: true,
    schema: { type: 'string', examples: ['"4"'] },
  },
  Location: {
    description: 'Where the new resource lives.',
    required: true,
    schema: { type: 'string', format: 'uri-reference', examples: ['/api/v1/workers/w-5k1r2m3n8pq4t'] },
  },
  'WWW-Authenticate': {
    description: 'How to say who you are.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
  },
  Allow: {
    description: 'The methods that the path takes.',
    required: true,
    schema: { type: 'string', examples: ['GET, POST'] },
  },
  'Retry-After': {
    description: 'How many seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 0, examples: [1] },
  },
  'Idempotent-Replayed': {
    description: '`true` when this is the stored answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
} as const satisfies Record<string, Header>
export type HeaderName = keyof typeof ANSWER_HEADERS

export const headerReferences = (names: readonly HeaderName[]): Record<string, Reference> =>
  Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))

export function parametersOf(route: RouteSpec, book: SchemaBook): (Parameter | Reference)[] {
  return [...pathParameters(route), ...queryParameters(route, book), ...headerParameters(route)]
}

export const pathNames = ({ path }: Pick<RouteSpec, 'path'>): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

const pathParameters = (route: RouteSpec): Parameter[] =>
  pathNames(route).map(name => {
    const { description, example = name } = parameterNoteOf(areaOf(route), name)
    return {
      name,
      in: 'path',
      required: true,
      ...(description === undefined ? {} : { description }),
      schema: { type: 'string' },
      example,
    }
  })

const queryParameters = (route: RouteSpec, book: SchemaBook): Parameter[] =>
  queryFields(route.query).map(({ name, schema, required }) => {
    const described = book.of(schema, 'output')
    const { description = described.description, example } = parameterNoteOf(areaOf(route), name)
    return {
      name,
      in: 'query',
      required,
      ...(description === undefined ? {} : { description }),
      schema: described,
      ...(example !== undefined && fits(example, described, book.components) ? { example } : {}),
    }
  })

function headerParameters(route: RouteSpec): Reference[] {
  const used: (keyof typeof HEADER_PARAMETERS)[] = []
  if (route.ifMatch) used.push(route.ifMatch === 'required' ? 'IfMatchRequired' : 'IfMatch')
  if (route.idempotent) used.push('IdempotencyKey')
  if (route.fenced) used.push('Epoch')
  if (route.stream) used.push('LastEventId')
  return used.map(name => ({ $ref: `#/components/parameters/${name}` }))
}
