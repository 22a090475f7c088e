import { ProblemError } from '@lcm/contract/problems'
import type { RouteSpec } from '@lcm/contract/routes'
import { type ApiRequest, fromEtag } from '@lcm/contract/wire'
import { issueWords } from '@lcm/domain/text/issue-words'
import type { z } from 'zod'

export const BODY_BYTES_MAX = 1024 * 1024

/** Deeper than any valid body. */
const DEPTH_MAX = 64
/** A small request must not cause a huge response. */
const ERRORS_MAX = 100
const WORDS_LENGTH_MAX = 500
const HALF_CHARACTER = /\p{Surrogate}/u

export function queryOf({ searchParams }: URL): Record<string, string> {
  const names = [...searchParams.keys()]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw refused(`query.${twice}`, 'given more than once')
  return Object.fromEntries(searchParams)
}

export function jsonOf(spec: RouteSpec, request: ApiRequest): unknown {
  if (!spec.body) return undefined
  const text = request.body ?? ''
  const bytesMax = spec.bodyBytesMax ?? BODY_BYTES_MAX
  if (text.length > bytesMax) throw new ProblemError('body_too_large', `at most ${bytesMax} bytes`)
  if (text === '') return {}
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/(json|merge-patch\+json)\s*(;|$)/i.test(type)) {
    throw new ProblemError('unsupported_media_type', `the body came as ${nameOf(type)}; send application/json`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ProblemError('malformed_json', placeOf(error))
  }
}

/** Quotes media types only: a misplaced header may hold a secret, or be very long. */
function nameOf(type: string): string {
  if (type === '') return 'nothing'
  return /^[a-z]+\/[\w.+-]{1,60}(?=\s*(;|$))/i.exec(type)?.[0] ?? 'something else'
}

/** Names the position, never the text: the parser quotes the body, which may be a secret. */
function placeOf(error: unknown): string {
  const position = /at position (\d+)/.exec(String(error))?.[1]
  return position === undefined ? 'the body is not JSON' : `the body stops being JSON at character ${position}`
}

export function parse(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return undefined
  refuseUnsafeValues(value, where)
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { issues } = result.error
  const errors = issues
    .slice(0, ERRORS_MAX)
    .map(issue => fieldError([where, ...issue.path].join('.'), issueWords(issue)))
  const [first] = errors
  const detail =
    issues.length === 1 && first
      ? `${first.path}: ${first.message}`
      : `${issues.length} fields are not as they should be`
  throw new ProblemError('validation_failed', detail, errors)
}

/** Refuses values that stores and parsers treat differently. */
export function refuseUnsafeValues(value: unknown, path: string, depth = 0): void {
  if (depth > DEPTH_MAX) throw refused(path, 'nested too deeply')
  if (typeof value === 'string') {
    if (value.includes('\u0000')) throw refused(path, 'NUL is not allowed')
    if (HALF_CHARACTER.test(value)) throw refused(path, 'half of a character is not allowed')
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    refuseUnsafeValues(key, path)
    if (key === '__proto__') throw refused(path, '__proto__ is not allowed')
    refuseUnsafeValues(child, `${path}.${key}`, depth + 1)
  }
}

function refused(where: string, words: string): ProblemError {
  const { path, message } = fieldError(where, words)
  return new ProblemError('validation_failed', `${path}: ${message}`, [{ path, message }])
}

/** Both may quote keys of the request, which may be long. */
const fieldError = (path: string, message: string) => ({ path: shortened(path), message: shortened(message) })

const shortened = (text: string): string =>
  text.length <= WORDS_LENGTH_MAX ? text : `${text.slice(0, WORDS_LENGTH_MAX)}…`

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
    throw new ProblemError('validation_failed', 'headers.if-match: a version such as "7"', errors)
  }
  return version
}
