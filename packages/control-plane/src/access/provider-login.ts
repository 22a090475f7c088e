import { createHash } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { toInstant } from '@lcm/domain/instant'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection } from '@lcm/store/store'
import { sha256 } from '../crypto.ts'
import type { BrowserSession, IdempotentRequest } from '../internal-documents.ts'
import { listAll } from '../resources/list-documents.ts'
import type { AccessAudit } from './access-audit.ts'
import { redirect, signInFailed, smallBody } from './browser-login.ts'
import type { BrowserSessions } from './browser-sessions.ts'
import type { FailedAttempts } from './failed-attempts.ts'
import type { IdentityProvider, ProviderLogout } from './identity-provider.ts'
import { SIGN_IN_PAGE } from './login-codes.ts'
import type { RecordedPerson } from './provider-people.ts'
import type { ProviderSessions } from './provider-sessions.ts'
import { ownUrl } from './public-address.ts'
import type { SignInCookie } from './sign-in-cookie.ts'

export interface ProviderLogin {
  /** Redirects to the identity provider. */
  begin(request: ApiRequest): Promise<ApiResponse>
  /** Handles the redirect back from the provider. */
  callback(request: ApiRequest, url: URL): Promise<ApiResponse>
  /** Ends sessions that the provider has ended (OpenID Connect Back-Channel Logout). */
  logout(request: ApiRequest): Promise<ApiResponse>
}

export interface ProviderLoginParts {
  readonly clock: Clock
  readonly log: Logger
  readonly publicUrl: string | null
  readonly provider: IdentityProvider<RecordedPerson> | null
  readonly signIns: SignInCookie
  readonly ofProvider: ProviderSessions
  readonly sessions: BrowserSessions
  readonly stored: Collection<BrowserSession>
  /** Logout tokens that were used. */
  readonly used: Collection<IdempotentRequest>
  readonly attempts: FailedAttempts
  readonly audit: AccessAudit
}

/**
 * A Strict cookie is not sent after a redirect from another site. This page starts a new navigation from the console's own
 * origin.
 */
const GO_ON =
  '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>Signed in</title>' +
  '<p><a href="/">Go on</a></p>'

export function providerLogin(parts: ProviderLoginParts): ProviderLogin {
  const { provider, signIns, audit } = parts
  const redirectUri = (request: ApiRequest) => new URL('/login/callback', ownUrl(request, parts.publicUrl)).href

  /** The browser came here by a navigation, so it gets a page. */
  async function orFailed(request: ApiRequest, work: () => Promise<ApiResponse>): Promise<ApiResponse> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      parts.log.info({ code: error.code, because: error.message }, 'browser login failed')
      if (error.code !== 'identity_provider_unavailable') audit.refused(request, 'provider')
      return signInFailed(error.code)
    }
  }

  async function finish(
    from: IdentityProvider<RecordedPerson>,
    request: ApiRequest,
    answer: URLSearchParams,
  ): Promise<ApiResponse> {
    const { verifier, nonce } = signIns.resume(request, answer.get('state') ?? '')
    const code = answer.get('code')
    if (code === null)
      throw new ProblemError('unauthenticated', `the provider says ${answer.get('error')?.slice(0, 100) ?? 'nothing'}`)
    const signedIn = await from.redeem({ code, verifier, nonce, redirectUri: redirectUri(request) })
    const cookies = [await parts.ofProvider.begin(request, signedIn), signIns.end(request)]
    const headers = { 'content-type': 'text/html; charset=utf-8', 'set-cookie': cookies.join('\n') }
    return { status: 200, headers, body: GO_ON }
  }

  return {
    async begin(request) {
      if (provider === null) return redirect(SIGN_IN_PAGE)
      return orFailed(request, async () => {
        const { signIn, cookie } = signIns.begin(request)
        const { state, nonce, verifier } = signIn
        const challenge = createHash('sha256').update(verifier).digest('base64url')
        const location = await provider.signInUrl({ redirectUri: redirectUri(request), state, nonce, challenge })
        return { status: 303, headers: { location, 'set-cookie': cookie }, body: null }
      })
    },
    async callback(request, url) {
      if (provider === null) throw noProvider()
      return orFailed(request, () => finish(provider, request, url.searchParams))
    },
    async logout(request) {
      if (provider === null) throw noProvider()
      const logoutToken = new URLSearchParams(smallBody(request)).get('logout_token') ?? ''
      const end = async () => endSessions(parts, provider, await provider.logoutOf(logoutToken), request)
      try {
        await parts.attempts.check(request, logoutToken, 'provider', end)
        return { status: 200, headers: {}, body: null }
      } catch (error) {
        // The specification asks for 400.
        if (!(error instanceof ProblemError) || error.code !== 'unauthenticated') throw error
        const problem = { error: 'invalid_request', error_description: error.message }
        return { status: 400, headers: { 'content-type': 'application/json' }, body: JSON.stringify(problem) }
      }
    },
  }
}

const noProvider = () => new ProblemError('not_found', 'no identity provider is set up')

/** The token is marked as used last: after a crash the provider sends it again. */
async function endSessions(
  { clock, sessions, stored, used }: ProviderLoginParts,
  { issuer }: Pick<IdentityProvider<unknown>, 'issuer'>,
  { jti, sid, subject }: ProviderLogout,
  request: ApiRequest,
): Promise<void> {
  const id = sha256(JSON.stringify(['logout token', jti]))
  if ((await used.get(id)) !== null) throw new ProblemError('unauthenticated', 'this logout token was used before')
  const where = sid === null ? { provider_subject: subject ?? '' } : { provider_sid: sid }
  for (const session of await listAll(stored, { where })) {
    const isOfPerson = subject === null || session.provider?.subject === subject
    if (session.provider?.issuer === issuer && isOfPerson)
      await sessions.end(session.id, request, 'the identity provider ended it')
  }
  const started_at = toInstant(clock.now())
  await used.insert({ id, version: 1, body_sha256: '', resource_id: '', started_at, answer: null })
}
