import { UnreachableError } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/route-spec'

/** The code of a login link, or a token. Neither is stored in the page. */
export type Credentials = { readonly code: string } | { readonly token: string }

/** How a person tried to sign in, and the problem code of the refusal. */
export interface SignInFailure {
  readonly by: 'link' | 'token' | 'account'
  readonly code: string
}

/** Exchanges credentials for the cookie of a session. Null when it worked. */
export async function requestSignIn(transport: Dispatch, credentials: Credentials): Promise<SignInFailure | null> {
  const by = 'code' in credentials ? 'link' : 'token'
  try {
    const { status, body } = await transport({
      method: 'POST',
      url: '/login',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
      signal: new AbortController().signal,
    })
    return status < 400 ? null : { by, code: codeIn(body) }
  } catch (error) {
    if (error instanceof UnreachableError) return { by, code: 'unreachable' }
    throw error
  }
}

/** A proxy may answer with something else than a problem. */
function codeIn(body: unknown): string {
  try {
    return String(JSON.parse(String(body)).code)
  } catch {
    return 'unreadable'
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  'link login_code_invalid': 'This link was used before or has expired. It works once, for ten minutes. Get a new one.',
  'link unauthenticated': 'The person who made this link no longer has access. Get a link from another person.',
  'token unauthenticated': 'LCM does not know this token. Copy all of it, or ask an administrator for a new one.',
  'token forbidden': 'This token belongs to a controller. Use the token of a person.',
  'account forbidden': 'Your account has no role in LCM. Ask your administrator for one, then sign in again.',
  'account unauthenticated': 'The sign-in with your account was not completed. Try again.',
  identity_provider_unavailable: 'The sign-in service of your organization does not respond. Try again in a minute.',
  too_many_attempts: 'This is wrong too, after many wrong tokens or links from your address. Try again in a minute.',
  foreign_origin:
    'LCM does not know the address in your address bar, so it refused the sign-in. Open the public address of LCM, or ' +
    'ask your administrator to set LCM_PUBLIC_URL to this one.',
  unreachable: 'LCM is not responding. Try again in a moment.',
}

/** What went wrong and what to do, in a sentence. */
export const signInFailureText = ({ by, code }: SignInFailure): string =>
  TEXTS[`${by} ${code}`] ?? TEXTS[code] ?? 'Signing in failed. Try again, or ask your administrator.'
