import { EPOCH_HEADER } from '../route-spec.ts'
import type { RouteSpec } from '../routes.ts'
import type { Header, JsonSchema, Parameter, Reference } from './document-types.ts'
import { queryFields, type SchemaComponents } from './schema-components.ts'

const IF_MATCH = 'The write is refused with 412 `version_mismatch` if the resource has another version.'

/** Quotes are documented but optional. */
const VERSION = '(W/)?"?[0-9]{1,15}"?'

/** Request headers. */
export const HEADER_PARAMETERS = {
  IfMatch: {
    ...header('If-Match', `The \`ETag\` of the resource. ${IF_MATCH} \`*\` matches any version.`, '"4"'),
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
      'Makes a retry safe: within 24 hours the same key on the same path returns the first response again, with ' +
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
    ...header(EPOCH_HEADER, 'The registered leadership term of the controller.', '7'),
    required: true,
    schema: { type: 'string', pattern: '^[1-9][0-9]{0,14}$', 'x-lcm-format': 'a whole number above 0' },
  },
  LastEventId: header(
    'Last-Event-ID',
    'Resume after this position: the `id` of the last event, or the `revision` of a list. Browsers send it automatically.',
    '1042',
  ),
} as const satisfies Record<string, Parameter>

function header(name: string, description: string, example: string) {
  return { name, in: 'header', required: false, description, schema: { type: 'string' }, example } as const
}

/** Response headers. */
export const ANSWER_HEADERS = {
  ETag: {
    description: 'The version of the resource in quotes. Send it as `If-Match` with the next write.',
    required: true,
    schema: { type: 'string', examples: ['"4"'] },
  },
  Location: {
    description: 'The path of the new resource.',
    required: true,
    schema: { type: 'string', format: 'uri-reference', examples: ['/api/v1/workers/w-5k1r2m3n8pq4t'] },
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
  },
  Allow: {
    description: 'The methods that the path supports.',
    required: true,
    schema: { type: 'string', examples: ['GET, POST'] },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 0, examples: [1] },
  },
  'Idempotent-Replayed': {
    description: '`true` if this is the stored response of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
} as const satisfies Record<string, Header>
export type HeaderName = keyof typeof ANSWER_HEADERS

export const headerReferences = (names: readonly HeaderName[]): Record<string, Reference> =>
  Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))

export function parametersOf(route: RouteSpec, schemas: SchemaComponents): (Parameter | Reference)[] {
  return [...pathParameters(route), ...queryParameters(route, schemas), ...headerParameters(route)]
}

export const pathNames = ({ path }: Pick<RouteSpec, 'path'>): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

const pathParameters = (route: RouteSpec): Parameter[] =>
  pathNames(route).map(name => ({
    name,
    in: 'path',
    required: true,
    ...route.params?.[name],
    schema: { type: 'string' },
  }))

/** Description and example belong to the parameter, the rest to its schema. */
const queryParameters = (route: RouteSpec, schemas: SchemaComponents): Parameter[] =>
  queryFields(route.query).map(({ name, schema, required }) => {
    const { description, examples, ...rest }: JsonSchema = schemas.of(schema, 'output')
    return {
      name,
      in: 'query',
      required,
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(examples === undefined ? {} : { example: examples[0] }),
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
