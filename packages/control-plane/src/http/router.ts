import { ProblemError } from '@lcm/contract/problems'
import { API_PREFIX, ROUTES, type RouteSpec } from '@lcm/contract/routes'

export interface Routed {
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

/** Route of the contract for a request. */
export function findRoute(method: string, pathname: string): Routed {
  if (!pathname.startsWith(`${API_PREFIX}/`)) throw new ProblemError('not_found', `nothing is at ${pathname}`)
  const given = pathname.slice(API_PREFIX.length).split('/')
  const matching = (TABLE.get(bucketOf(given)) ?? []).filter(({ parts }) => isMatch(parts, given))
  // A literal path wins over a parameter.
  const literal = matching.filter(({ parts }) => !parts.some(isParameter))
  const found = literal.length > 0 ? literal : matching
  const chosen = found.find(each => each.spec.method === method)
  if (chosen) return { name: chosen.name, spec: chosen.spec, params: paramsOf(chosen.parts, given) }
  if (found.length === 0) throw new ProblemError('not_found', `nothing is at ${pathname}`)
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
