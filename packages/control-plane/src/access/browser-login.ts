import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import { z } from 'zod'
import type { AccessAudit } from './access-audit.ts'
import type { BrowserSessions } from './browser-sessions.ts'
import type { Credentials } from './credentials.ts'
import type { FailedAttempts } from './failed-attempts.ts'
import { invalidCode, type LoginCodes, loginLinkOf, noLongerKnown, SIGN_IN_PAGE } from './login-codes.ts'
import { refuseForeignOrigin } from './public-address.ts'

export interface BrowserLogin {
  /** Redirects to the sign-in page of the console. It spends no code, so link scanners can't use one up. */
  page(request: ApiRequest, url: URL): ApiResponse
  /** Exchanges the code of a login link, or a token, for a session. */
  login(request: ApiRequest): Promise<ApiResponse>
  logout(request: ApiRequest): Promise<ApiResponse>
}

export interface BrowserLoginParts {
  readonly publicUrl: string | null
  readonly sessions: BrowserSessions
  readonly codes: LoginCodes
  readonly attempts: FailedAttempts
  readonly audit: AccessAudit
  /** Actor of a token that LCM knows. */
  actorOf(token: string): Promise<Actor>
  readonly known: Pick<Credentials, 'newKeyOf'>
}

export const redirect = (location: string): ApiResponse => ({ status: 303, headers: { location }, body: null })
/** The sign-in page explains each of these codes. */
export const signInFailed = (code: string): ApiResponse => redirect(`${SIGN_IN_PAGE}?failed=${code}`)

const SignInBody = z.union([
  z.strictObject({ code: z.string().min(1).max(200) }),
  z.strictObject({ token: z.string().min(1).max(8_192) }),
])
const CODE = /^[\w-]{1,200}$/

export function browserLogin(parts: BrowserLoginParts): BrowserLogin {
  const { sessions, attempts, known } = parts

  async function signIn(request: ApiRequest, credentials: z.infer<typeof SignInBody>): Promise<string> {
    if ('token' in credentials) return signInByToken(request, credentials.token)
    const { code } = credentials
    const { actor, credential } = await attempts.check(request, code, 'wrong_login_code', () => spend(code))
    return sessions.begin(request, { actor, signed_in_by: 'login_link', credential, provider: null })
  }

  /** A link ends with the other sign-ins of its person. */
  async function spend(code: string): ReturnType<LoginCodes['spend']> {
    const spent = await parts.codes.spend(code)
    if ((await known.newKeyOf(spent.actor.id, 'invitation')) !== spent.credential) throw invalidCode()
    return spent
  }

  async function signInByToken(request: ApiRequest, token: string): Promise<string> {
    const actor = await attempts.check(request, token, 'wrong_token', () => parts.actorOf(token))
    if (actor.role === 'controller') throw new ProblemError('forbidden', 'a controller has no use for a browser')
    const credential = await known.newKeyOf(actor.id, 'token')
    if (credential === null) throw noLongerKnown(actor)
    return sessions.begin(request, { actor, signed_in_by: 'token', credential, provider: null })
  }

  return {
    page(_, url) {
      const code = url.searchParams.get('code') ?? ''
      return redirect(CODE.test(code) ? loginLinkOf(code) : SIGN_IN_PAGE)
    },
    async login(request) {
      refuseForeignOrigin(request, parts)
      const cookie = await signIn(request, credentialsIn(request))
      return { status: 204, headers: { 'set-cookie': cookie }, body: null }
    },
    async logout(request) {
      refuseForeignOrigin(request, parts)
      return { status: 204, headers: { 'set-cookie': await sessions.signOut(request) }, body: null }
    },
  }
}

/** Anyone may send it, so little of it is parsed. */
const BODY_CHARS_MAX = 16_384

export function smallBody({ body }: ApiRequest): string {
  if (body !== null && body.length > BODY_CHARS_MAX)
    throw new ProblemError('body_too_large', `at most ${BODY_CHARS_MAX} characters`)
  return body ?? ''
}

function credentialsIn(request: ApiRequest): z.infer<typeof SignInBody> {
  const given = SignInBody.safeParse(jsonIn(request))
  if (given.success) return given.data
  throw new ProblemError('validation_failed', 'send the code of a login link, or a token')
}

function jsonIn(request: ApiRequest): unknown {
  const body = smallBody(request)
  try {
    return JSON.parse(body)
  } catch {
    throw new ProblemError('malformed_json', 'the body is not JSON')
  }
}
