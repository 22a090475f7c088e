import { ProblemError } from '@lcm/contract/problems'
import type { RouteSpec } from '@lcm/contract/routes'
import { type ApiRequest, fromEtag } from '@lcm/contract/wire'
import type { z } from 'zod'

export const BODY_BYTES_MAX = 1024 * 1024

export const queryOf = (url: URL): Record<string, string> => Object.fromEntries(url.searchParams)

export function jsonOf(spec: RouteSpec, request: ApiRequest): unknown {
  if (!spec.body) return undefined
  const text = request.body ?? ''
  if (text.length > BODY_BYTES_MAX) throw new ProblemError('body_too_large', `at most ${BODY_BYTES_MAX} bytes`)
  if (text === '') return {}
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/(json|merge-patch\+json)\s*(;|$)/i.test(type)) {
    throw new ProblemError('unsupported_media_type', `the body came as ${type || 'nothing'}; send application/json`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ProblemError('malformed_json', placeOf(error))
  }
}

/** Says where, and never what: the parser quotes the text, which may be a secret. */
function placeOf(error: unknown): string {
  const position = /at position (\d+)/.exec(String(error))?.[1]
  return position === undefined ? 'the body is not JSON' : `the body stops being JSON at character ${position}`
}

export function parse(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return undefined
  refuseNul(value, where)
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const errors = result.error.issues.map(issue => ({ path: [where, ...issue.path].join('.'), message: issue.message }))
  const [first] = errors
  const detail =
    errors.length === 1 && first
      ? `${first.path}: ${first.message}`
      : `${errors.length} fields are not as they should be`
  throw new ProblemError('validation_failed', detail, errors)
}

/** Stores differ in what they make of NUL, so it goes no further than here. */
export function refuseNul(value: unknown, path: string): void {
  if (typeof value === 'string' && value.includes('\u0000')) {
    throw new ProblemError('validation_failed', `${path}: NUL is not allowed`, [
      { path, message: 'NUL is not allowed' },
    ])
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    refuseNul(key, path)
    refuseNul(child, `${path}.${key}`)
  }
}

export function ifMatchOf(spec: RouteSpec, request: ApiRequest): number | null {
  const header = request.headers['if-match']
  if (header === undefined || header === '*') {
    if (spec.ifMatch === 'required')
      throw new ProblemError('precondition_required', 'say which version you read, with If-Match')
    return null
  }
  const version = fromEtag(header)
  if (version === null) {
    const errors = [{ path: 'headers.if-match', message: 'a version such as "7"' }]
    throw new ProblemError('validation_failed', `If-Match is not a version: ${header.slice(0, 40)}`, errors)
  }
  return version
}
