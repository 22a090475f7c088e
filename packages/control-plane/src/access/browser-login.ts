import { createHash } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import type { Logger } from '@lcm/runtime'
import { type BrowserSessions, ownUrl, refuseForeignOrigin } from './browser-sessions.ts'
import type { FailedAttempts } from './failed-attempts.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { LoginCodes } from './login-codes.ts'
import type { SignInCookie } from './sign-in-cookie.ts'

export interface BrowserLogin {
  /** Turns a login link into a session; without a code it redirects to the identity provider. */
  login(request: ApiRequest, url: URL): Promise<ApiResponse>
  /** Handles the redirect back from the provider. */
  callback(request: ApiRequest, url: URL): Promise<ApiResponse>
  logout(request: ApiRequest): ApiResponse
}

export interface BrowserLoginParts {
  readonly log: Logger
  readonly publicUrl: string | null
  readonly sessions: BrowserSessions
  readonly signIns: SignInCookie
  readonly provider: IdentityProvider | null
  readonly codes: LoginCodes
  readonly attempts: FailedAttempts
  keyOf(actorId: string): Promise<string | null>
}

/** The console explains what to do after a failed login. */
const FAILED: ApiResponse = { status: 303, headers: { location: '/#/login-failed' }, body: null }

/**
 * A Strict cookie is not sent after a redirect from another site. This page starts a new navigation from the console's own
 * origin.
 */
const GO_ON =
  '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>Signed in</title>' +
  '<p><a href="/">Go on</a></p>'

export function browserLogin(parts: BrowserLoginParts): BrowserLogin {
  const { sessions, signIns, provider } = parts
  const redirectUri = (request: ApiRequest) => new URL('/login/callback', ownUrl(request, parts.publicUrl)).href

  async function sessionFor(request: ApiRequest, actor: Actor): Promise<string> {
    const key = await parts.keyOf(actor.id)
    if (key === null) throw new ProblemError('unauthenticated', `${actor.name} is no longer known here`)
    return sessions.begin(request, actor, key)
  }

  async function orFailed(request: ApiRequest, work: () => Promise<ApiResponse>): Promise<ApiResponse> {
    try {
      return await parts.attempts.guard(request.remote, work)
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code === 'too_many_attempts') throw error
      parts.log.info({ code: error.code, because: error.message }, 'browser login failed')
      return FAILED
    }
  }

  async function toProvider(to: IdentityProvider, request: ApiRequest): Promise<ApiResponse> {
    const { signIn, cookie } = signIns.begin(request)
    const { state, nonce, verifier } = signIn
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const location = await to.signInUrl({ redirectUri: redirectUri(request), state, nonce, challenge })
    return { status: 303, headers: { location, 'set-cookie': cookie }, body: null }
  }

  async function fromProvider(from: IdentityProvider, request: ApiRequest, answer: URLSearchParams) {
    const { verifier, nonce } = signIns.resume(request, answer.get('state') ?? '')
    const code = answer.get('code')
    if (code === null)
      throw new ProblemError('unauthenticated', `the provider says ${answer.get('error')?.slice(0, 100) ?? 'nothing'}`)
    const actor = await from.redeem({ code, verifier, nonce, redirectUri: redirectUri(request) })
    const cookies = [await sessionFor(request, actor), signIns.end(request)]
    const headers = { 'content-type': 'text/html; charset=utf-8', 'set-cookie': cookies.join('\n') }
    return { status: 200, headers, body: GO_ON }
  }

  return {
    async login(request, url) {
      const code = url.searchParams.get('code')
      if (code === null) return provider === null ? FAILED : orFailed(request, () => toProvider(provider, request))
      return orFailed(request, async () => {
        const cookie = await sessionFor(request, await parts.codes.spend(code))
        return { status: 303, headers: { location: '/', 'set-cookie': cookie }, body: null }
      })
    },
    async callback(request, url) {
      if (provider === null) throw new ProblemError('not_found', 'no identity provider is set up')
      return orFailed(request, () => fromProvider(provider, request, url.searchParams))
    },
    logout(request) {
      refuseForeignOrigin(request, parts.publicUrl)
      return { status: 204, headers: { 'set-cookie': sessions.end(request) }, body: null }
    },
  }
}
