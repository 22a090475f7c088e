import { Ec2Refusal, invalidValue } from './refusal.ts'

/** Values of one filter are alternatives; all filters must match. */
export interface Filter {
  readonly name: string
  readonly values: readonly string[]
}

/** Values of a resource for a filter name; null for an unknown filter. */
export type FilterSource = (name: string) => readonly string[] | null

export type FilterTest = (source: FilterSource) => boolean

const FILTER_VALUES_MAX = 200

/** Patterns are compiled once for a whole listing. */
export function filterTest(filters: readonly Filter[]): FilterTest {
  const values = filters.reduce((sum, filter) => sum + filter.values.length, 0)
  if (values > FILTER_VALUES_MAX) {
    const message = `The maximum number of filter values specified on a single call is ${FILTER_VALUES_MAX}.`
    throw new Ec2Refusal('FilterLimitExceeded', message)
  }
  const compiled = filters.map(filter => ({ name: filter.name, patterns: filter.values.map(patternOf) }))
  return source =>
    compiled.every(({ name, patterns }) => {
      const values = source(name)
      if (values === null) throw invalidValue(`The filter '${name}' is invalid`)
      return values.some(value => patterns.some(pattern => pattern.test(value)))
    })
}

/** `*` matches any text, `?` at most one character; a backslash escapes the next character. */
export function patternOf(value: string): RegExp {
  const body = value.replaceAll(/\\([\s\S])|[\s\S]/g, (character: string, escaped: string | undefined) => {
    if (escaped !== undefined) return literally(escaped)
    if (character === '*') return '[\\s\\S]*'
    return character === '?' ? '[\\s\\S]?' : literally(character)
  })
  return new RegExp(`^${body}$`)
}

const literally = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

export interface PageRequest {
  readonly max_results: number | null
  readonly next_token: string | null
}

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_token: string | null
}

const PAGE_SIZE_MIN = 5
const PAGE_SIZE_MAX = 1000

/**
 * One page of items in ascending order of `rank`. The token holds the last rank shown, so items that appear or
 * disappear between two pages neither shift nor repeat the others.
 */
export function pageOf<Item>(items: Iterable<Item>, rank: (item: Item) => number, request: PageRequest): Page<Item> {
  const size = pageSize(request.max_results)
  const after = rankAfter(request)
  const page: Item[] = []
  for (const item of items) {
    if (rank(item) <= after) continue
    const last = page.at(-1)
    if (page.length === size && last !== undefined) return { items: page, next_token: tokenOf(rank(last)) }
    page.push(item)
  }
  return { items: page, next_token: null }
}

export function checkPageRequest(request: PageRequest): void {
  pageSize(request.max_results)
  rankAfter(request)
}

/** Last rank of the previous page; -1 on the first page. */
export const rankAfter = ({ next_token: token }: PageRequest): number => (token === null ? -1 : rankIn(token))

function pageSize(maxResults: number | null): number {
  if (maxResults === null) return Number.POSITIVE_INFINITY
  if (Number.isInteger(maxResults) && maxResults >= PAGE_SIZE_MIN) return Math.min(maxResults, PAGE_SIZE_MAX)
  throw invalidValue(`Value ( ${maxResults} ) for parameter maxResults is invalid. Expecting a value of 5 or more.`)
}

const tokenOf = (rank: number) => Buffer.from(`after:${rank}`).toString('base64')

function rankIn(token: string): number {
  const rank = /^after:(\d+)$/.exec(Buffer.from(token, 'base64').toString())?.[1]
  if (rank === undefined) throw new Ec2Refusal('InvalidNextToken', 'The pagination token is not valid.')
  return Number(rank)
}
