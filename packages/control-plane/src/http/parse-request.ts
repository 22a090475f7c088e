import { ProblemError } from '@lcm/contract/problems'
import { type ApiRequest, bodyLimitsOf, bodySizeText, fromEtag } from '@lcm/contract/route-spec'
import { API_PREFIX, ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { issueWords } from '@lcm/domain/text/schema-issue-words'
import type { z } from 'zod'

/** Deeper than any valid body. */
const DEPTH_MAX = 64
/** A small request must not cause a huge response. */
const ERRORS_MAX = 100
const WORDS_LENGTH_MAX = 500
const HALF_CHARACTER = /\p{Surrogate}/u

export function queryOf({ searchParams }: URL): Record<string, string> {
  // Not an index search per name: thousands of names fit in one address.
  const seen = new Set<string>()
  for (const name of searchParams.keys()) {
    if (seen.has(name)) throw refused(`query.${name}`, 'given more than once')
    seen.add(name)
  }
  return Object.fromEntries(searchParams)
}

export function jsonOf(spec: RouteSpec, request: ApiRequest): unknown {
  if (!spec.body) return undefined
  const text = request.body ?? ''
  const { bytesMax, valuesMax } = bodyLimitsOf(spec)
  if (Buffer.byteLength(text) > bytesMax) throw bodyTooLarge(bytesMax)
  if (text === '') return {}
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/(json|merge-patch\+json)\s*(;|$)/i.test(type)) {
    throw new ProblemError('unsupported_media_type', `the body came as ${nameOf(type)}; send application/json`)
  }
  refuseShape(text, valuesMax)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ProblemError('malformed_json', placeOf(error))
  }
}

export const bodyTooLarge = (bytesMax: number): ProblemError =>
  new ProblemError('body_too_large', `the body is larger than ${bodySizeText(bytesMax)}, the limit of this path`)

const OPENING = new Set(['{', '['])
const CLOSING = new Set(['}', ']'])

/**
 * Refuses a list, deep nesting and too many values by reading brackets and commas, before any value is made: parsing and
 * checking every value would block all other requests.
 */
function refuseShape(text: string, valuesMax: number): void {
  if (/^\s*\[/.test(text)) throw refused('body', 'it must be fields with values')
  let depth = 0
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') at = endOfString(text, at)
    else if (CLOSING.has(character)) depth -= 1
    else if (OPENING.has(character) || character === ',') {
      values += 1
      if (character !== ',') depth += 1
      if (depth > DEPTH_MAX) throw refused('body', 'nested too deeply')
      if (values > valuesMax) throw refused('body', `more than ${valuesMax} values`)
    }
  }
}

/** Position of the closing quote; of the end if there is none. */
function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from + 1)
  while (at !== -1 && isEscaped(text, at)) at = text.indexOf('"', at + 1)
  return at === -1 ? text.length : at
}

function isEscaped(text: string, quote: number): boolean {
  let before = quote
  while (text[before - 1] === '\\') before -= 1
  return (quote - before) % 2 === 1
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
      throw new ProblemError('precondition_required', 'send the version that you read in If-Match')
    return null
  }
  const version = fromEtag(header)
  if (version === null) {
    const errors = [{ path: 'headers.if-match', message: 'a version such as "7"' }]
    throw new ProblemError('validation_failed', 'headers.if-match: a version such as "7"', errors)
  }
  return version
}

export interface FoundRoute {
  readonly name: string
  readonly spec: RouteSpec
  readonly params: Record<string, string>
}

interface Entry {
  readonly name: string
  readonly spec: RouteSpec
  readonly parts: readonly string[]
}

/** Routes by number of parts and first part, which is always literal: few are left to compare. */
const TABLE = new Map<string, Entry[]>()
for (const [name, spec] of Object.entries<RouteSpec>(ROUTES)) {
  const parts = spec.path.split('/')
  TABLE.set(bucketOf(parts), [...(TABLE.get(bucketOf(parts)) ?? []), { name, spec, parts }])
}

function bucketOf(parts: readonly string[]): string {
  return `${parts.length} ${parts[1]}`
}

/** Route of the contract for a request; null for a path outside the contract. */
export function findRoute(method: string, pathname: string): FoundRoute | null {
  if (!pathname.startsWith(`${API_PREFIX}/`)) return null
  const given = pathname.slice(API_PREFIX.length).split('/')
  const matching = (TABLE.get(bucketOf(given)) ?? []).filter(({ parts }) => isMatch(parts, given))
  // A literal path wins over a parameter.
  const literal = matching.filter(({ parts }) => !parts.some(isParameter))
  const found = literal.length > 0 ? literal : matching
  const chosen = found.find(each => each.spec.method === method)
  if (chosen) return { name: chosen.name, spec: chosen.spec, params: paramsOf(chosen.parts, given) }
  if (found.length === 0) return null
  throw methodNotAllowed(
    pathname,
    method,
    found.map(each => each.spec.method),
  )
}

export function methodNotAllowed(pathname: string, method: string, allow: readonly string[]): ProblemError {
  const detail = `${pathname} takes ${allow.join(', ')}, not ${method}`
  return new ProblemError('method_not_allowed', detail, undefined, { allow })
}

const isParameter = (part: string): boolean => part.startsWith('{')

/** Whether the path matches a pattern such as `/workers/{id}`. */
const isMatch = (parts: readonly string[], given: readonly string[]): boolean =>
  parts.every((part, index) => (isParameter(part) ? given[index] !== '' : part === given[index]))

const paramsOf = (parts: readonly string[], given: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    parts.flatMap((part, index) => (isParameter(part) ? [[part.slice(1, -1), decoded(given[index] ?? '')]] : [])),
  )

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new ProblemError('not_found', 'the path is not valid UTF-8')
  }
}
