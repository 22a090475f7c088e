import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/wire'

/** Trusts `x-forwarded-proto` only when the public URL says that a TLS proxy is in front. */
export function cameByHttps(request: ApiRequest, publicUrl: string | null): boolean {
  if (publicUrl === null || new URL(publicUrl).protocol !== 'https:') return false
  return request.headers['x-forwarded-proto']?.split(',')[0]?.trim() === 'https'
}

/** Address of this server in browsers: the configured one, else the one of this request. */
export const ownUrl = (request: ApiRequest, publicUrl: string | null): string =>
  publicUrl ?? `http://${request.headers.host ?? 'localhost'}`

/** Browsers send the cookie with requests of other sites too; only the console's own may change something. */
export function refuseForeignOrigin(request: ApiRequest, publicUrl: string | null): void {
  const { origin, host } = request.headers
  if (origin !== undefined && URL.canParse(origin)) {
    const from = new URL(origin)
    if (from.host === host || (publicUrl !== null && from.origin === new URL(publicUrl).origin)) return
  }
  throw new ProblemError('foreign_origin', 'only the console itself may act with a browser session')
}
