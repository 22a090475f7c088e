import { type ReadonlySignal, signal } from '@preact/signals'

/** List pages and detail pages: `#/workers?status=FAILED`, `#/workers/w-…`. */
export const LIST_PAGES = [
  'overview',
  'workers',
  'sessions',
  'definitions',
  'labs',
  'forecast',
  'controllers',
  'chaos',
  'people',
  'audit',
  'settings',
] as const
export type ListPage = (typeof LIST_PAGES)[number]
const DETAIL_OF = { workers: 'worker', sessions: 'session', definitions: 'definition' } as const
export type DetailPage = (typeof DETAIL_OF)[keyof typeof DETAIL_OF]

export type Query = Readonly<Record<string, string>>

export type Route =
  | { readonly page: ListPage; readonly query: Query }
  | { readonly page: DetailPage; readonly id: string; readonly query: Query }
  | { readonly page: 'sign-in'; readonly query: Query }
  | { readonly page: 'unknown'; readonly path: string }

export function parseHash(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [head = 'overview', id, ...rest] = path.split('/').filter(part => part !== '')
  const query = Object.fromEntries(new URLSearchParams(search))
  if (path === 'sign-in') return { page: 'sign-in', query }
  if (id === undefined && isOneOf(LIST_PAGES, head)) return { page: head, query }
  if (id !== undefined && rest.length === 0 && Object.hasOwn(DETAIL_OF, head))
    return { page: DETAIL_OF[head as keyof typeof DETAIL_OF], id: decoded(id), query }
  return { page: 'unknown', path }
}

const isOneOf = <T extends string>(all: readonly T[], text: string): text is T =>
  all.some(candidate => candidate === text)

/** Empty values are omitted. */
function searchOf(query: Query): string {
  const named = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''))
  return named.size > 0 ? `?${named}` : ''
}

export const pageHash = (page: ListPage, query: Query = {}): string => `#/${page}${searchOf(query)}`

const detailHash =
  (page: keyof typeof DETAIL_OF) =>
  (id: string, query: Query = {}): string =>
    `#/${page}/${encodeURIComponent(id)}${searchOf(query)}`
export const workerHash = detailHash('workers')
export const sessionHash = detailHash('sessions')
export const definitionHash = detailHash('definitions')

/** An invalid escape sequence is treated as an unknown id. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export interface Router {
  readonly route: ReadonlySignal<Route>
  /** Changes the address without a new entry in the browser's history. */
  replace(hash: string): void
}

export function hashRouter(browser: Window): Router {
  const route = signal(parseHash(browser.location.hash))
  const read = () => {
    route.value = parseHash(browser.location.hash)
  }
  browser.addEventListener('hashchange', read)
  return {
    route,
    replace(hash) {
      browser.history.replaceState(null, '', hash)
      read()
    },
  }
}
