import { API_PREFIX, ROUTES, type RouteName, type RouteSpec } from '@lcm/contract/routes'
import { type ApiRequest, type ApiResponse, EPOCH_HEADER, fromEtag } from '@lcm/contract/wire'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'

/** One call as it came. Its body has passed the contract's schema. */
export interface Received {
  readonly name: RouteName
  readonly id: string
  readonly query: URLSearchParams
  readonly body: Readonly<Record<string, unknown>>
  readonly epoch: number | null
  readonly ifMatch: number | null
}

const PATTERNS = Object.entries(ROUTES).map(([name, { method, path }]) => ({
  name: name as RouteName,
  method,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`),
}))

/** What a request of a client means by the contract; throws where it means nothing. */
export function receivedOf({ method, url, headers, body }: ApiRequest): Received {
  const { pathname, searchParams } = new URL(url, 'http://api')
  const path = pathname.slice(API_PREFIX.length)
  // A literal segment wins over a parameter, as in `/workers/imports`.
  const found = PATTERNS.filter(each => each.method === method && each.pattern.test(path))
  const route = found.find(({ pattern }) => !pattern.source.includes('(')) ?? found[0]
  if (route === undefined) throw new Error(`no route ${method} ${path}`)
  const spec: RouteSpec = ROUTES[route.name]
  const parsed = spec.body === undefined ? {} : spec.body.parse(JSON.parse(body ?? 'null'))
  const epoch = headers[EPOCH_HEADER]
  const etag = headers['if-match']
  return {
    name: route.name,
    id: decodeURIComponent(route.pattern.exec(path)?.[1] ?? ''),
    query: searchParams,
    body: Object.fromEntries(Object.entries(parsed ?? {})),
    epoch: epoch === undefined ? null : Number(epoch),
    ifMatch: etag === undefined ? null : fromEtag(etag),
  }
}

export const json = (status: number, body: object): ApiResponse => ({ status, headers: {}, body: JSON.stringify(body) })
export const problem = (status: number, code: string, detail = code): ApiResponse =>
  json(status, { type: '', title: '', status, detail, code })

/** One page of a list, whose cursor is how many came before it. */
export function paged(all: readonly object[], query: URLSearchParams): ApiResponse {
  const from = Number(query.get('cursor') ?? '0')
  const to = from + Number(query.get('limit') ?? '50')
  const next_cursor = to < all.length ? String(to) : null
  return json(200, { items: all.slice(from, to), next_cursor, revision: '1' })
}

/** All settings, those that were given and the others at their defaults. */
export function settingsShown(given: ReadonlyMap<string, unknown>): ApiResponse {
  const all = { ...SETTING_DEFAULTS, ...Object.fromEntries(given) }
  const shown = Object.entries(all).map(([name, value]) => [name, { value, source: 'default' }])
  return json(200, { version: 0, updated_at: null, settings: Object.fromEntries(shown) })
}
