import type { Operation, Parameter } from '../openapi/document-types.ts'
import { API_PREFIX, type RouteSpec } from '../routes.ts'

/** The script of the page replaces it with the origin of the page. */
export const SAMPLE_ORIGIN = 'http://localhost:8080'
const ADMIN = '$(cat .lcm/admin-token)'
/** A longer body is split into lines. */
const SHORT_BODY_MAX = 70

export type CurlSubject = Partial<Pick<Operation, 'x-lcm-roles'>> &
  Pick<Operation, 'x-lcm-service' | 'security' | 'requestBody'> & {
    readonly parameters: readonly Parameter[]
  }

/** A curl command that calls the route with its required parameters only. */
export function curlOf(route: Pick<RouteSpec, 'method' | 'path' | 'stream' | 'file'>, subject: CurlSubject): string {
  const body = subject.requestBody?.content['application/json']?.example
  const isPlainPost = route.method === 'POST' && body !== undefined
  const start = [
    'curl',
    ...(route.stream ? ['-N'] : []),
    ...(route.method === 'GET' || isPlainPost ? [] : ['-X', route.method]),
  ]
  const required = subject.parameters.filter(parameter => parameter.in === 'header' && parameter.required)
  return [
    [...start, quoted(SAMPLE_ORIGIN + pathOf(route.path, subject.parameters))].join(' '),
    ...authorization(subject),
    ...required.map(({ name, example }) => `-H ${quoted(`${name}: ${example}`)}`),
    ...(route.file === undefined ? [] : ['-o download']),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(bodyText(body))}`]),
  ].join(' \\\n  ')
}

function authorization({ security, 'x-lcm-roles': roles, 'x-lcm-service': service }: CurlSubject): string[] {
  if (security?.length === 0) return []
  const isForPeople = service === undefined || roles?.includes('admin')
  return [`-H "Authorization: Bearer ${isForPeople ? ADMIN : '$LCM_SERVICE_TOKEN'}"`]
}

/** The path of a call, with the examples of its parameters. */
export function pathOf(path: string, parameters: readonly Parameter[]): string {
  const exampleFor = (where: string, name: string) =>
    encodeURIComponent(String(parameters.find(each => each.in === where && each.name === name)?.example ?? name))
  const query = parameters
    .filter(parameter => parameter.in === 'query' && parameter.required)
    .map(({ name }) => `${name}=${exampleFor('query', name)}`)
  const filled = API_PREFIX + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => exampleFor('path', name))
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}

function bodyText(body: unknown): string {
  const short = JSON.stringify(body)
  return short.length <= SHORT_BODY_MAX ? short : JSON.stringify(body, null, 2)
}

/** Quotes a text for a POSIX shell if it needs quotes. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
