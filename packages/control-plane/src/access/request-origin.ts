import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/wire'

/** Anybody may claim to have come by https; it is believed only where a proxy that speaks it is known to stand in front. */
export function cameByHttps(request: ApiRequest, publicUrl: string | null): boolean {
  if (publicUrl === null || new URL(publicUrl).protocol !== 'https:') return false
  return request.headers['x-forwarded-proto']?.split(',')[0]?.trim() === 'https'
}

/** Where browsers reach this server: what the configuration says, or else what this one asked for. */
export const ownUrl = (request: ApiRequest, publicUrl: string | null): string =>
  publicUrl ?? `http://${request.headers.host ?? 'localhost'}`

/** The cookie goes out with requests that other sites make; only the page's own may change something. */
export function refuseForeignOrigin(request: ApiRequest, publicUrl: string | null): void {
  const { origin, host } = request.headers
  if (origin !== undefined && URL.canParse(origin)) {
    const from = new URL(origin)
    if (from.host === host || (publicUrl !== null && from.origin === new URL(publicUrl).origin)) return
  }
  throw new ProblemError('foreign_origin', 'only the console itself may act with a browser session')
}
