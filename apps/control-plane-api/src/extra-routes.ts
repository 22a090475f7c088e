import { openApi } from '@lcm/contract/openapi'
import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest, ApiResponse } from '@lcm/contract/wire'
import type { AccessControl } from './access-control.ts'
import type { Extra } from './dispatch.ts'

/** What the host knows and the API serves for it. */
export interface ProcessFace {
  /** Answers with `status: healthy | degraded | unhealthy` and whatever explains it. */
  health(): { readonly status: string }
  ready(): boolean
  /** The metrics of the process in Prometheus' text format. */
  metrics(): Promise<string>
}

/** Paths outside the contract's table: the login page, the document that describes the rest, and what machines ask a process. */
export function extraRoutes(parts: { access: AccessControl; process: ProcessFace; version: string }): Extra {
  const document = JSON.stringify(openApi(parts.version))
  const paths: Record<string, (request: ApiRequest, url: URL) => Promise<ApiResponse> | ApiResponse> = {
    '/health': () => json(200, JSON.stringify(parts.process.health())),
    '/ready': () => json(parts.process.ready() ? 200 : 503, JSON.stringify({ ready: parts.process.ready() })),
    '/api/v1/openapi.json': () => json(200, document),
    '/login': (_, url) => login(parts.access, url),
    '/metrics': async request => {
      await parts.access.identify(request)
      return {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4' },
        body: await parts.process.metrics(),
      }
    },
  }
  return async (request, url) => {
    const answer = paths[url.pathname]
    if (!answer) return null
    if (request.method !== 'GET') throw new ProblemError('method_not_allowed', `${url.pathname} takes GET`)
    return answer(request, url)
  }
}

const json = (status: number, body: string): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body,
})

/** A link from the terminal becomes a browser session. The console tells people what to do when the link is used up. */
function login(access: AccessControl, url: URL): ApiResponse {
  try {
    const cookie = access.login(url.searchParams.get('code') ?? '', false)
    return { status: 303, headers: { location: '/', 'set-cookie': cookie }, body: null }
  } catch (error) {
    if (error instanceof ProblemError) return { status: 303, headers: { location: '/#/login-failed' }, body: null }
    throw error
  }
}
