import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/route-spec'
import type { AccessAudit } from './access-audit.ts'

/** Whether browsers reach this installation by https. Cookies and HSTS follow it, and no header of a request changes it. */
export const isReachedByHttps = (publicUrl: string | null): boolean =>
  publicUrl !== null && new URL(publicUrl).protocol === 'https:'

/** Address of this server in browsers: the configured one, else the one of this request. */
export const ownUrl = (request: ApiRequest, publicUrl: string | null): string =>
  publicUrl ?? `http://${request.headers.host ?? 'localhost'}`

/** Browsers send cookies with requests of other sites too. Only pages of the console itself may change something. */
export function refuseForeignOrigin(
  request: ApiRequest,
  { publicUrl, audit }: { publicUrl: string | null; audit: Pick<AccessAudit, 'refused'> },
): void {
  const { origin } = request.headers
  if (origin !== undefined && ownOrigins(request, publicUrl).includes(origin)) return
  audit.refused(request, 'foreign_origin')
  throw new ProblemError('foreign_origin', 'only the console itself may act with a browser session')
}

/** Scheme, host and port of the console. Where browsers use https, pages that came without it are not the console's. */
function ownOrigins({ headers: { host = '' } }: ApiRequest, publicUrl: string | null): string[] {
  const direct = `${isReachedByHttps(publicUrl) ? 'https' : 'http'}://${host}`
  const origins = URL.canParse(direct) ? [new URL(direct).origin] : []
  return publicUrl === null ? origins : [new URL(publicUrl).origin, ...origins]
}
