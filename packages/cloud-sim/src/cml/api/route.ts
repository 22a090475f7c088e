import type { OpenCall, Outcome, UserCall } from '../server-context.ts'

interface Place {
  readonly method: string
  /** Path parts; one that begins with `:` names a parameter. */
  readonly parts: readonly string[]
}

export interface OpenRoute extends Place {
  readonly access: 'open'
  handle(call: OpenCall): Outcome
}

export interface UserRoute extends Place {
  readonly access: 'user' | 'admin'
  handle(call: UserCall): Outcome
}

export type Route = OpenRoute | UserRoute

function placeOf(pattern: string): Place {
  const [method = '', path = ''] = pattern.split(' ')
  return { method, parts: partsOf(path) }
}

const partsOf = (path: string): readonly string[] => path.split('/').filter(part => part !== '')

/** No login needed. */
export const open = (pattern: string, handle: OpenRoute['handle']): Route => ({
  ...placeOf(pattern),
  access: 'open',
  handle,
})

export const user = (pattern: string, handle: UserRoute['handle']): Route => ({
  ...placeOf(pattern),
  access: 'user',
  handle,
})

export const admin = (pattern: string, handle: UserRoute['handle']): Route => ({
  ...placeOf(pattern),
  access: 'admin',
  handle,
})

export interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/**
 * Fixed parts match before parameters, in any order of the table. `wrong_method`: the path exists with another method.
 */
export function routerOf(
  routes: readonly Route[],
): (method: string, path: string) => Match | 'unknown' | 'wrong_method' {
  const sorted = routes.toSorted(fixedFirst)
  return (method, path) => {
    const parts = partsOf(path)
    const there = sorted.filter(route => fits(route, parts))
    if (there.length === 0) return 'unknown'
    const route = there.find(candidate => candidate.method === method)
    return route ? { route, params: paramsOf(route, parts) } : 'wrong_method'
  }
}

const parameterCount = ({ parts }: Place): number => parts.filter(isParameter).length
const fixedFirst = (a: Place, b: Place): number => parameterCount(a) - parameterCount(b)
const isParameter = (part: string): boolean => part.startsWith(':')

const fits = ({ parts }: Place, given: readonly string[]): boolean =>
  parts.length === given.length && parts.every((part, index) => isParameter(part) || part === given[index])

const paramsOf = ({ parts }: Place, given: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parts.flatMap((part, index) => (isParameter(part) ? [[part.slice(1), decoded(given[index] ?? '')]] : [])),
  )

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
