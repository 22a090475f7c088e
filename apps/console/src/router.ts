import { WORKER_STATUSES, type WorkerStatus } from '@lcm/domain/worker/worker'
import { type ReadonlySignal, signal } from '@preact/signals'

export interface WorkerFilter {
  /** Empty means: all that are not TERMINATED. */
  readonly statuses: readonly WorkerStatus[]
  readonly text: string
}

export type Route =
  | { readonly page: 'workers'; readonly filter: WorkerFilter }
  | { readonly page: 'worker'; readonly id: string }
  /** Where the API sends whoever comes with a login link that does not work. */
  | { readonly page: 'login-failed' }
  | { readonly page: 'unknown'; readonly path: string }

export const NO_FILTER: WorkerFilter = { statuses: [], text: '' }

/** Everything that can be looked at has an address: `#/workers?status=FAILED&q=metal`, `#/workers/w-…`. */
export function parseHash(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [head = '', id, ...rest] = path.split('/').filter(part => part !== '')
  if (head === '' || (head === 'workers' && id === undefined)) return { page: 'workers', filter: parseFilter(query) }
  if (head === 'workers' && id !== undefined && rest.length === 0) return { page: 'worker', id: decoded(id) }
  if (path === 'login-failed') return { page: 'login-failed' }
  return { page: 'unknown', path }
}

export function workersHash(filter: WorkerFilter = NO_FILTER): string {
  const query = new URLSearchParams()
  if (filter.statuses.length > 0) query.set('status', filter.statuses.join(','))
  if (filter.text !== '') query.set('q', filter.text)
  return query.size > 0 ? `#/workers?${query}` : '#/workers'
}

export const workerHash = (id: string): string => `#/workers/${encodeURIComponent(id)}`

function parseFilter(query: string): WorkerFilter {
  const params = new URLSearchParams(query)
  const named = new Set(params.get('status')?.split(','))
  return { statuses: WORKER_STATUSES.filter(status => named.has(status)), text: params.get('q') ?? '' }
}

/** A broken escape in a typed address is just an id that nothing has. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export interface Router {
  readonly route: ReadonlySignal<Route>
  /** Changes the address in place, without a new step in the browser's history. */
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
