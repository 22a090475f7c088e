import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'
import { z } from 'zod'
import { randomText, type Sealing, sameSecret } from '../crypto.ts'
import type { Cookies } from './cookies.ts'

const SIGN_IN_MS = 10 * 60_000
const PURPOSE = 'oidc'
const COOKIE = 'lcm_sign_in'
const SECRET_BYTES = 32

/** State that a browser carries to the provider and back. */
const SignIn = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), exp: z.number() })
export type SignIn = z.infer<typeof SignIn>

export interface SignInCookie {
  /** Starts a login and returns the cookie that stores it. */
  begin(request: ApiRequest): { signIn: SignIn; cookie: string }
  /** The login of this browser that the provider now answers. */
  resume(request: ApiRequest, state: string): SignIn
  /** Cookie that deletes it. */
  end(request: ApiRequest): string
}

/** The secrets of a login are stored only in the browser, sealed, so that any replica can finish it. */
export function signInCookie(parts: {
  clock: Clock
  randomBytes: (size: number) => Uint8Array
  sealing: Sealing
  cookies: Cookies
}): SignInCookie {
  const { clock, sealing, cookies } = parts
  // The cookie must be sent when the provider redirects back.
  const cookie = (request: ApiRequest, value: string, maxAgeMs: number) =>
    cookies.write(request, { stem: COOKIE, value, sameSite: 'Lax', maxAgeMs })
  const secret = () => randomText(parts.randomBytes, SECRET_BYTES)
  return {
    begin(request) {
      const signIn = { state: secret(), nonce: secret(), verifier: secret(), exp: clock.now() + SIGN_IN_MS }
      return { signIn, cookie: cookie(request, sealing.seal(JSON.stringify(signIn), PURPOSE), SIGN_IN_MS) }
    },
    resume(request, state) {
      const value = cookies.read(request, COOKIE)
      const opened = value === null ? null : sealing.open(value, PURPOSE)
      const signIn = opened === null ? null : SignIn.safeParse(JSON.parse(opened)).data
      if (signIn && signIn.exp > clock.now() && sameSecret(state, signIn.state)) return signIn
      throw new ProblemError('unauthenticated', 'this browser did not begin this login, or too long ago')
    },
    end: request => cookie(request, '', 0),
  }
}
