import { ROLES, type Role } from '@lcm/domain/actor'
import type { Access } from '../access.ts'
import { API_PREFIX, ROUTES, type RouteSpec } from '../routes.ts'
import { exampleOf } from './examples.ts'
import { ANSWER_HEADERS, HEADER_PARAMETERS, type HeaderName, headerReferences, parametersOf } from './parameters.ts'
import { problemAnswers, problemExamples, problemsOf } from './problem-responses.ts'
import { COMPONENT_SCHEMAS, type SchemaBook, schemaBook } from './schemas.ts'
import { areaOf, areaSentence, areasOf } from './tags.ts'
import type { Answer, JsonSchema, MediaType, OpenApiDocument, Operation, Reference } from './types.ts'

const SESSION_COOKIE = 'lcm_session'

/** The OpenAPI 3.1 document, made from the table that also routes and validates. */
export function openApi(version: string, routes: Readonly<Record<string, RouteSpec>> = ROUTES): OpenApiDocument {
  const specs = Object.values(routes)
  const book = schemaBook(specs)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lablet Cloud Manager',
      version,
      summary: 'Runs fleets of CML servers on AWS EC2, and the lab sessions on them.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'The same for people, with a first call', url: '/api/docs' },
    servers: [{ url: API_PREFIX, description: 'This LCM' }],
    tags: areasOf(specs).map(name => ({ name, description: areaSentence(name) })),
    security: [{ bearer: [] }, { session: [] }],
    paths: pathsOf(routes, book),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token: `.lcm/admin-token`, or one from `POST /tokens`.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description: 'A browser that a login link logged in. It may act from the console only.',
        },
      },
      parameters: HEADER_PARAMETERS,
      headers: ANSWER_HEADERS,
      responses: Object.assign({}, ...specs.map(route => problemAnswers(route).components)),
      examples: problemExamples(),
      schemas: book.components,
    },
  }
}

function pathsOf(routes: Readonly<Record<string, RouteSpec>>, book: SchemaBook): OpenApiDocument['paths'] {
  const byPath: Record<string, Record<string, Operation>> = {}
  for (const [name, route] of Object.entries(routes)) {
    byPath[route.path] = { ...byPath[route.path], [route.method.toLowerCase()]: operation(name, route, book) }
  }
  return byPath
}

function operation(name: string, route: RouteSpec, book: SchemaBook): Operation {
  return {
    operationId: name,
    tags: [areaOf(route)],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    'x-lcm-roles': rolesOf(route.access),
    ...(typeof route.access === 'object' && 'controllersOf' in route.access
      ? { 'x-lcm-service': route.access.controllersOf }
      : {}),
    'x-lcm-problems': problemsOf(route),
    ...securityOf(route.access),
    parameters: parametersOf(route, book),
    ...(route.body
      ? {
          requestBody: {
            // No body is an empty one, which some routes take.
            required: !route.body.safeParse({}).success,
            content: { 'application/json': media(book, book.of(route.body, 'input'), 'input') },
          },
        }
      : {}),
    responses: { ...successes(route, book), ...problemAnswers(route).references },
  }
}

/** Those who may call it; anybody may call what is open. */
export function rolesOf(access: Access): readonly Role[] {
  if (access === 'open') return ROLES
  return 'roles' in access ? access.roles : ['controller']
}

/** Said where it is not what the document says for all. */
function securityOf(access: Access): Pick<Operation, 'security'> {
  if (access === 'open') return { security: [] }
  return 'roles' in access ? {} : { security: [{ bearer: [] }] }
}

const media = (book: SchemaBook, schema: JsonSchema, direction: 'input' | 'output'): MediaType => ({
  schema,
  example: exampleOf(schema, { schemas: book.components, direction }),
})

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  200: 'As asked.',
  201: 'Made.',
  202: 'Taken note of; controllers do the rest.',
  204: 'Done; there is nothing to say.',
}

function successes(route: RouteSpec, book: SchemaBook): Record<string, Answer> {
  const answer = success(route, book)
  const { status, alsoStatus } = route
  if (!alsoStatus) return { [status]: answer }
  return { [status]: answer, [alsoStatus.status]: { ...answer, description: sentence(alsoStatus.meaning) } }
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`

function success(route: RouteSpec, book: SchemaBook): Answer {
  const schema = route.answer ? book.of(route.answer, 'output') : null
  const headers = answerHeaders(route, schema, book)
  const description = route.stream
    ? 'A stream of events that goes on until you close it.'
    : (DESCRIPTIONS[route.status] ?? 'Done.')
  return {
    description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(schema === null ? {} : { content: contentOf(route, schema, book) }),
  }
}

function contentOf(route: RouteSpec, schema: JsonSchema, book: SchemaBook): Record<string, MediaType> {
  if (route.file !== undefined) return { [route.file]: { schema: {} } }
  if (route.stream) return { 'text/event-stream': { schema: messageOf(schema), examples: eventExamples(schema, book) } }
  return { 'application/json': media(book, schema, 'output') }
}

function answerHeaders(route: RouteSpec, schema: JsonSchema | null, book: SchemaBook): Record<string, Reference> {
  const names: HeaderName[] = []
  if (
    schema &&
    !route.stream &&
    route.file === undefined &&
    resolved(schema, book).properties?.version?.type === 'integer'
  )
    names.push('ETag')
  if (route.location !== undefined) names.push('Location')
  if (route.idempotent) names.push('Idempotent-Replayed')
  return headerReferences(names)
}

/** One message of a stream, field by field. */
const messageOf = (event: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    id: { type: 'string', description: 'The position after this change. What can not be told again has none.' },
    data: { type: 'string', contentMediaType: 'application/json', contentSchema: event },
  },
  required: ['data'],
})

/** One message for each kind of event, by its type. An event about a resource has that one's id and version. */
function eventExamples(schema: JsonSchema, book: SchemaBook): NonNullable<MediaType['examples']> {
  const { anyOf, oneOf } = resolved(schema, book)
  const around = { schemas: book.components, direction: 'output', owner: schema.$ref?.split('/').at(-1) ?? '' } as const
  const examples = (anyOf ?? oneOf ?? [schema]).map(option => {
    const event = exampleOf(option, around) as Record<string, unknown>
    const subject = (event.data ?? {}) as Record<string, unknown>
    const shared = ['id', 'version'].filter(key => key in event && key in subject).map(key => [key, subject[key]])
    const data = JSON.stringify({ ...event, ...Object.fromEntries(shared) })
    return [String(event.type), { value: 'version' in event ? { id: '1042', data } : { data } }]
  })
  return Object.fromEntries(examples)
}

const resolved = (schema: JsonSchema, book: SchemaBook): JsonSchema =>
  schema.$ref === undefined ? schema : (book.components[schema.$ref.slice(COMPONENT_SCHEMAS.length)] ?? {})
