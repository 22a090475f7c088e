import { isAscii } from 'node:buffer'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import { type ApiResponse, toEtag } from '@lcm/contract/route-spec'
import { API_PREFIX, type RouteSpec } from '@lcm/contract/routes'
import { StoreError } from '@lcm/store/store'
import type { Encoded, Reply } from '../api-context.ts'

/** 201 for a resource that was created, the second status of the route for one that was there. */
const statusOf = (spec: RouteSpec, { kind }: Reply): number =>
  kind === 'json' ? (spec.alsoStatus?.status ?? spec.status) : spec.status

/** HTTP response for the reply of a handler. */
export function responseOf(spec: RouteSpec, reply: Reply): ApiResponse {
  const status = statusOf(spec, reply)
  switch (reply.kind) {
    case 'json':
    case 'created':
      return {
        status,
        headers: { 'content-type': 'application/json', ...resourceHeaders(spec, reply.body) },
        body: JSON.stringify(reply.body),
      }
    case 'encoded':
      return encodedResponse(status, reply)
    case 'empty':
      return { status, headers: {}, body: null }
    case 'stream':
      return { status, headers: { 'content-type': 'text/event-stream' }, body: reply.events }
    case 'file':
      return { status, headers: fileHeaders(spec.file ?? 'application/octet-stream'), body: null, file: reply.chunks }
  }
}

const encodedResponse = (status: number, { bytes }: Encoded<unknown>): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  bytes,
  get body() {
    const { buffer, byteOffset, byteLength } = bytes.data
    // Several times faster than UTF-8, and most pages are ASCII.
    return Buffer.from(buffer, byteOffset, byteLength).toString(isAscii(bytes.data) ? 'latin1' : 'utf8')
  },
})

const fileHeaders = (mediaType: string) => ({
  'content-type': mediaType,
  'content-disposition': 'attachment; filename="lcm.backup"',
})

function resourceHeaders(spec: RouteSpec, answer: unknown): Record<string, string> {
  const fields = new Map<string, unknown>(Object.entries(answer ?? {}))
  const version = fields.get('version')
  const location = spec.location?.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(fields.get(name))),
  )
  return {
    ...(typeof version === 'number' ? { etag: toEtag(version) } : {}),
    ...(location === undefined ? {} : { location: `${API_PREFIX}${location}` }),
  }
}

/** Problem to answer an error with. Hides the details of unexpected errors. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  if (error instanceof StoreError)
    return new ProblemError('store_unavailable', error.advice ?? 'the store does not answer; try again in a moment')
  return new ProblemError('internal_error', 'something went wrong inside LCM; its log has the details')
}

/** The query may hold a login code, which belongs neither in a log nor in a response. */
export const pathOf = (url: string): string => url.split('?')[0] ?? url

export function problemResponse(error: ProblemError, instance: string): ApiResponse {
  const problem = error.toProblem(pathOf(instance))
  return {
    status: problem.status,
    headers: { 'content-type': PROBLEM_MEDIA_TYPE, ...adviceOf(error, problem.status) },
    body: JSON.stringify(problem),
  }
}

function adviceOf({ retryAfterSeconds, allow }: ProblemError, status: number): Record<string, string> {
  return {
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(allow === undefined ? {} : { allow: allow.join(', ') }),
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  }
}
