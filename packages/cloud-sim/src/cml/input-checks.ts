import { CmlRefusal } from './http-messages.ts'

type Location = readonly (string | number)[]

interface Problem {
  readonly location: Location
  readonly type: string
  readonly message: string
}

/** Checks a value and adds its problems to a list. `shape` is never set: it only carries the type. */
export interface Check<T> {
  (value: unknown, at: Location, problems: Problem[]): void
  readonly shape?: T
}

/** Returns the value if it is valid, else throws a 400 as CML does: a JSON document inside the description. */
export function checked<T>(value: unknown, check: Check<T>, at: Location = ['body']): T {
  const problems: Problem[] = []
  check(value, at, problems)
  if (problems.length > 0) throw new CmlRefusal(400, JSON.stringify({ 'Input validation failed': problems }))
  return value as T
}

/** Parses and validates the body. */
export function jsonBody<T>(body: string, check: Check<T>): T {
  return checked(jsonIn(body), check)
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    const problem = { location: ['body'], type: 'json_invalid', message: 'JSON decode error' }
    throw new CmlRefusal(400, JSON.stringify({ 'Input validation failed': [problem] }))
  }
}

function rule<T>(type: string, message: string, holds: (value: unknown) => boolean): Check<T> {
  return (value, at, problems) => {
    if (!holds(value)) problems.push({ location: at, type, message })
  }
}

export const text = (max: number, min = 0): Check<string> =>
  rule('string_type', `Input should be a string of ${min} to ${max} characters`, value => {
    return typeof value === 'string' && value.length >= min && value.length <= max
  })

export const textLike = (pattern: RegExp): Check<string> =>
  rule('string_pattern_mismatch', `String should match pattern '${pattern.source}'`, value => {
    return typeof value === 'string' && pattern.test(value)
  })

export const oneOf = <T extends string>(...allowed: readonly T[]): Check<T> =>
  rule('enum', `Input should be ${allowed.map(word => `'${word}'`).join(', ')}`, value => {
    return allowed.some(word => word === value)
  })

export const integer = (min: number, max: number): Check<number> =>
  rule('int_range', `Input should be an integer from ${min} to ${max}`, value => {
    return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
  })

export const number = (min: number, max: number): Check<number> =>
  rule('float_range', `Input should be a number from ${min} to ${max}`, value => {
    return typeof value === 'number' && value >= min && value <= max
  })

export const flag: Check<boolean> = rule('bool_type', 'Input should be a valid boolean', value => {
  return typeof value === 'boolean'
})

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const anyObject: Check<Readonly<Record<string, unknown>>> = rule(
  'dict_type',
  'Input should be a valid dictionary',
  isObject,
)

export const nullable =
  <T>(check: Check<T>): Check<T | null> =>
  (value, at, problems) => {
    if (value !== null) check(value, at, problems)
  }

export const either =
  <A, B>(first: Check<A>, second: Check<B>): Check<A | B> =>
  (value, at, problems) => {
    const ofFirst: Problem[] = []
    const ofSecond: Problem[] = []
    first(value, at, ofFirst)
    second(value, at, ofSecond)
    if (ofFirst.length > 0 && ofSecond.length > 0) problems.push(...ofFirst)
  }

export function listOf<T>(check: Check<T>, min = 0, max = Number.POSITIVE_INFINITY): Check<readonly T[]> {
  const message = `Input should be a list of ${min} to ${max} items`
  return (value, at, problems) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      problems.push({ location: at, type: 'list_type', message })
      return
    }
    for (const [index, item] of value.entries()) check(item, [...at, index], problems)
  }
}

type Checks<T> = { readonly [K in keyof T]: Check<T[K]> }

/** An object with exactly these members; CML rejects any other. */
export function object<R extends object, O extends object>(
  required: Checks<R>,
  optional: Checks<O>,
): Check<Readonly<R & Partial<O>>> {
  const known: Readonly<Record<string, Check<unknown>>> = { ...required, ...optional }
  const needed = Object.keys(required)
  return (value, at, problems) => {
    if (!isObject(value)) {
      problems.push({ location: at, type: 'model_type', message: 'Input should be a valid dictionary' })
      return
    }
    for (const name of needed) {
      if (!Object.hasOwn(value, name))
        problems.push({ location: [...at, name], type: 'missing', message: 'Field required' })
    }
    for (const [name, member] of Object.entries(value)) {
      const check = Object.hasOwn(known, name) ? known[name] : undefined
      if (check) check(member, [...at, name], problems)
      else
        problems.push({ location: [...at, name], type: 'extra_forbidden', message: 'Extra inputs are not permitted' })
    }
  }
}

/** Query flags are true or false; the official client sends an empty one for None, which counts as absent. */
export function queryFlag(query: URLSearchParams, name: string): boolean | null {
  const value = query.get(name)?.toLowerCase() ?? ''
  return value === '' ? null : value === 'true' || value === '1'
}
