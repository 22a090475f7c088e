import { z } from 'zod'
import { PROBLEM_MEDIA_TYPE, PROBLEMS, Problem, type ProblemCode } from './problems.ts'
import { API_PREFIX, ROUTES, type RouteSpec } from './routes.ts'
import { EPOCH_HEADER } from './wire.ts'

/** What any route may answer besides its own problems. */
const shared = (route: RouteSpec): ProblemCode[] => {
  const codes: ProblemCode[] = ['internal_error', 'store_unavailable', 'wrong_host']
  if (route.access !== 'open') codes.push('unauthenticated', 'forbidden')
  if (route.query || route.body || route.ifMatch) codes.push('validation_failed')
  if (route.fenced) codes.push('stale_leader', 'term_not_registered')
  if (route.fenced || route.ifMatch === 'required') codes.push('precondition_required')
  if (route.method !== 'GET') codes.push('foreign_origin')
  if (route.body) codes.push('malformed_json', 'body_too_large', 'unsupported_media_type')
  return codes
}

export const problemsOf = (route: RouteSpec): ProblemCode[] => [...new Set([...route.problems, ...shared(route)])]

/** The OpenAPI 3.1 document, made from the table that also routes and validates. */
export function openApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Lablet Cloud Manager', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: API_PREFIX }],
    security: [{ bearer: [] }],
    paths: paths(),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: jsonSchema(Problem, 'output') },
    },
  }
}

function paths(): Record<string, Record<string, object>> {
  const byPath: Record<string, Record<string, object>> = {}
  for (const [name, route] of Object.entries<RouteSpec>(ROUTES)) {
    byPath[route.path] = { ...byPath[route.path], [route.method.toLowerCase()]: operation(name, route) }
  }
  return byPath
}

function operation(name: string, route: RouteSpec): object {
  return {
    operationId: name,
    summary: route.summary,
    ...(route.access === 'open' ? { security: [] } : {}),
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
    ...(route.body ? { requestBody: { required: true, content: json(jsonSchema(route.body, 'input')) } } : {}),
    responses: { [route.status]: success(route), ...problemResponses(route) },
  }
}

const json = (schema: object) => ({ 'application/json': { schema } })

function success(route: RouteSpec): object {
  if (route.answer === null) return { description: 'done' }
  const schema = jsonSchema(route.answer, 'output')
  return { description: 'ok', content: route.stream ? { 'text/event-stream': { schema } } : json(schema) }
}

function problemResponses(route: RouteSpec): Record<string, object> {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of problemsOf(route)) {
    const { status } = PROBLEMS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const schema = { $ref: '#/components/schemas/Problem' }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      { description: codes.join(', '), content: { [PROBLEM_MEDIA_TYPE]: { schema } } },
    ]),
  )
}

const pathParameters = (route: RouteSpec) =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

function queryParameters(route: RouteSpec): object[] {
  if (!route.query) return []
  return Object.entries(route.query.shape).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: jsonSchema(schema, 'input'),
  }))
}

const headerParameters = (route: RouteSpec): object[] => [
  ...(route.ifMatch ? [header('If-Match', route.ifMatch === 'required')] : []),
  ...(route.fenced ? [header(EPOCH_HEADER, true)] : []),
]

const header = (name: string, required: boolean) => ({ name, in: 'header', required, schema: { type: 'string' } })

const jsonSchema = (schema: z.core.$ZodType, io: 'input' | 'output'): object =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any' })
