import { ROLES, type Role } from '@lcm/domain/actor'
import { type Access, bodyLimitsOf, bodySizeText } from '../route-spec.ts'
import { API_PREFIX, ROUTES, type RouteSpec } from '../routes.ts'
import type { Answer, JsonSchema, MediaType, OpenApiDocument, Operation, Reference } from './document-types.ts'
import { exampleOf } from './generate-example.ts'
import {
  ANSWER_HEADERS,
  HEADER_PARAMETERS,
  type HeaderName,
  headerReferences,
  parametersOf,
} from './parameters-and-headers.ts'
import { problemAnswers, problemExamples, problemsOf } from './problem-responses.ts'
import { COMPONENT_SCHEMAS, type SchemaComponents, schemaComponents } from './schema-components.ts'
import { tagDescription, tagOf, tagsOf } from './tags.ts'

const DESCRIPTION =
  'Lablet Cloud Manager (LCM) keeps CML servers on EC2 in the state that callers request, books lab sessions on them, and ' +
  'explains what it did. Authenticate with a bearer token. Every refusal is a problem document (RFC 9457) with a stable code.'

/** A URI as the specification requires. Each LCM serves the same page at `/api/docs`. */
const DOCS_URL = 'http://localhost:8080/api/docs'

/** Over plain http it has no prefix. With a port in the address it ends with the port: `lcm_session_8080`. */
const SESSION_COOKIE = '__Host-lcm_session'

/** The OpenAPI 3.1 document, made from the table that also routes and validates requests. */
export function openApi(version: string, routes: Readonly<Record<string, RouteSpec>> = ROUTES): OpenApiDocument {
  const specs = Object.values(routes)
  const schemas = schemaComponents(specs)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lablet Cloud Manager',
      version,
      summary: 'Runs fleets of CML servers on AWS EC2, and the lab sessions on them.',
      description: DESCRIPTION,
      contact: { name: 'Lablet Cloud Manager', url: DOCS_URL },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'The API documentation with examples', url: DOCS_URL },
    servers: [{ url: API_PREFIX, description: 'This LCM' }],
    tags: tagsOf(specs).map(name => ({ name, description: tagDescription(name) })),
    security: [{ bearer: [] }, { session: [] }],
    paths: pathsOf(routes, schemas),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token: the content of `.lcm/admin-token`, or the secret of a token from `POST /tokens`.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description:
            'The cookie of a browser that signed in. It may write from the console only. Over plain http its name has no ' +
            'prefix, and a port in the address is part of it: `lcm_session_8080`.',
        },
      },
      parameters: HEADER_PARAMETERS,
      headers: ANSWER_HEADERS,
      responses: Object.assign({}, ...specs.map(route => problemAnswers(route).components)),
      examples: problemExamples(),
      schemas: schemas.components,
    },
  }
}

function pathsOf(routes: Readonly<Record<string, RouteSpec>>, schemas: SchemaComponents): OpenApiDocument['paths'] {
  const byPath: Record<string, Record<string, Operation>> = {}
  for (const [name, route] of Object.entries(routes)) {
    byPath[route.path] = { ...byPath[route.path], [route.method.toLowerCase()]: operation(name, route, schemas) }
  }
  return byPath
}

function operation(name: string, route: RouteSpec, schemas: SchemaComponents): Operation {
  return {
    operationId: name,
    tags: [tagOf(route)],
    summary: route.summary,
    description: route.description,
    'x-lcm-roles': rolesOf(route.access),
    ...serviceOf(route.access),
    'x-lcm-problems': problemsOf(route),
    ...securityOf(route),
    parameters: parametersOf(route, schemas),
    ...(route.body
      ? {
          requestBody: {
            description: `At most ${bodySizeText(bodyLimitsOf(route).bytesMax)}.`,
            // A missing body counts as an empty object, which some routes accept.
            required: !route.body.safeParse({}).success,
            content: { 'application/json': media(schemas, schemas.of(route.body, 'input'), 'input') },
          },
        }
      : {}),
    responses: { ...successes(route, schemas), ...problemAnswers(route).references },
  }
}

/** The roles that may call a route; every role may call an open one. */
export function rolesOf(access: Access): readonly Role[] {
  if (access === 'open') return ROLES
  if (!('roles' in access)) return ['controller']
  return access.controller === undefined ? access.roles : [...access.roles, 'controller']
}

/** The service whose controllers may call a route, if any may. */
function serviceOf(access: Access): Pick<Operation, 'x-lcm-service'> {
  if (access === 'open') return {}
  const service = 'roles' in access ? access.controller : access.controllersOf
  return service === undefined ? {} : { 'x-lcm-service': service }
}

/** Overrides the security of the document where a route differs. */
function securityOf({ access, bearerOnly }: RouteSpec): Pick<Operation, 'security'> {
  if (access === 'open') return { security: [] }
  return 'roles' in access && !bearerOnly ? {} : { security: [{ bearer: [] }] }
}

const media = (schemas: SchemaComponents, schema: JsonSchema, direction: 'input' | 'output'): MediaType => ({
  schema,
  example: exampleOf(schema, { schemas: schemas.components, direction }),
})

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted. Controllers do the rest.',
  204: 'Success without a body.',
}

function successes(route: RouteSpec, schemas: SchemaComponents): Record<string, Answer> {
  const answer = success(route, schemas)
  const { status, alsoStatus } = route
  if (!alsoStatus) return { [status]: answer }
  return { [status]: answer, [alsoStatus.status]: { ...answer, description: sentence(alsoStatus.meaning) } }
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`

function success(route: RouteSpec, schemas: SchemaComponents): Answer {
  const schema = route.answer ? schemas.of(route.answer, 'output') : null
  const headers = answerHeaders(route, schema, schemas)
  const description = route.stream
    ? 'A stream of events that stays open until the client closes it.'
    : (DESCRIPTIONS[route.status] ?? 'Success.')
  return {
    description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(schema === null ? {} : { content: contentOf(route, schema, schemas) }),
  }
}

function contentOf(route: RouteSpec, schema: JsonSchema, schemas: SchemaComponents): Record<string, MediaType> {
  if (route.file !== undefined) return { [route.file]: { schema: {} } }
  if (route.stream)
    return { 'text/event-stream': { schema: messageOf(schema), examples: eventExamples(schema, schemas) } }
  return { 'application/json': media(schemas, schema, 'output') }
}

function answerHeaders(
  route: RouteSpec,
  schema: JsonSchema | null,
  schemas: SchemaComponents,
): Record<string, Reference> {
  const names: HeaderName[] = []
  if (
    schema &&
    !route.stream &&
    route.file === undefined &&
    resolved(schema, schemas).properties?.version?.type === 'integer'
  )
    names.push('ETag')
  if (route.location !== undefined) names.push('Location')
  if (route.idempotent) names.push('Idempotent-Replayed')
  return headerReferences(names)
}

/** The schema of one server-sent message. */
const messageOf = (event: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    id: { type: 'string', description: 'The position after this change. Events that are not repeated have none.' },
    data: {
      type: 'string',
      description: 'The event as JSON.',
      contentMediaType: 'application/json',
      contentSchema: event,
    },
  },
  required: ['data'],
})

/** One message per event type. The id and version of an event match its resource. */
function eventExamples(schema: JsonSchema, schemas: SchemaComponents): NonNullable<MediaType['examples']> {
  const { anyOf, oneOf } = resolved(schema, schemas)
  const context = { schemas: schemas.components, direction: 'output' } as const
  const examples = (anyOf ?? oneOf ?? [schema]).map(option => {
    const event = exampleOf(option, context) as Record<string, unknown>
    const subject = (event.data ?? {}) as Record<string, unknown>
    const shared = ['id', 'version'].filter(key => key in event && key in subject).map(key => [key, subject[key]])
    const data = JSON.stringify({ ...event, ...Object.fromEntries(shared) })
    return [String(event.type), { value: 'version' in event ? { id: '1042', data } : { data } }]
  })
  return Object.fromEntries(examples)
}

const resolved = (schema: JsonSchema, schemas: SchemaComponents): JsonSchema =>
  schema.$ref === undefined ? schema : (schemas.components[schema.$ref.slice(COMPONENT_SCHEMAS.length)] ?? {})
