import { ProblemError } from '@lcm/contract/problems'
import { API_PREFIX, ROUTES, type RouteSpec } from '@lcm/contract/routes'

export interface Routed {
  readonly name: string
  readonly spec: RouteSpec
  readonly params: Record<string, string>
}

const TABLE = Object.entries<RouteSpec>(ROUTES).map(([name, spec]) => ({ name, spec, match: matcher(spec.path) }))

/** The route of the contract that a request means. */
export function findRoute(method: string, pathname: string): Routed {
  if (!pathname.startsWith(`${API_PREFIX}/`)) throw new ProblemError('not_found', `nothing is at ${pathname}`)
  const path = pathname.slice(API_PREFIX.length)
  const matching = TABLE.flatMap(({ name, spec, match }) => {
    const params = match(path)
    return params ? [{ name, spec, params }] : []
  })
  // A path that is written out stands for itself, never for somebody's id.
  const writtenOut = matching.filter(({ params }) => Object.keys(params).length === 0)
  const found = writtenOut.length > 0 ? writtenOut : matching
  const chosen = found.find(each => each.spec.method === method)
  if (chosen) return chosen
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

/** Matches a path such as `/workers/{id}` and answers its parameters. */
function matcher(path: string): (candidate: string) => Record<string, string> | null {
  const parts = path.split('/')
  return candidate => {
    const given = candidate.split('/')
    if (given.length !== parts.length) return null
    const params: Record<string, string> = {}
    for (const [index, part] of parts.entries()) {
      const value = given[index] ?? ''
      if (part.startsWith('{') && value !== '') params[part.slice(1, -1)] = decoded(value)
      else if (part !== value) return null
    }
    return params
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new ProblemError('not_found', 'the path is not valid UTF-8')
  }
}
