import { createHash } from 'node:crypto'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { VirtualTime } from '@lcm/testkit/virtual-time'

/** Without ids, so that the same call has the same name in every run. */
export const callName = ({ method, url }: { readonly method: string; readonly url: string }): string => {
  const [path = ''] = url.split('?')
  const last = path.split('/').at(-1) ?? ''
  return `api.${method} ${last.replace(/^(w|ls|ld|lr)-.*/, (_, prefix: string) => RESOURCES[prefix] ?? '')}`
}
const RESOURCES: Readonly<Record<string, string>> = { w: 'worker', ls: 'session', ld: 'definition', lr: 'lab' }

/** Adds every write except metrics to the trace and the behavior fingerprint. */
export function traced(dispatch: Dispatch, time: VirtualTime): Dispatch {
  return async request => {
    const response = await dispatch(request)
    if (request.method === 'GET' || request.url.endsWith('/metrics')) return response
    const text = typeof response.body === 'string' ? response.body : ''
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 8)
    time.trace(`${request.method} ${request.url} ${response.status} ${digest}${reasonIn(request.body)}`)
    time.behavior(`${request.method} ${pathOf(request.url)} ${response.status} ${statusesIn(request.body)}`)
    return response
  }
}

const pathOf = (url: string): string => url.split('?')[0] ?? ''

/** The status and the worker in a write, without texts. */
function statusesIn(body: string | null): string {
  const { changes, worker_id } = JSON.parse(body ?? '{}')
  return [changes?.status, changes?.worker_id, worker_id].map(each => each ?? '-').join(' ')
}

/** The reason in a write, to make the trace readable. */
function reasonIn(body: string | null): string {
  const { decision, changes } = JSON.parse(body ?? '{}')
  if (decision === undefined) return ''
  return ` ${changes?.status ?? ''} (${decision.because.code})`
}
