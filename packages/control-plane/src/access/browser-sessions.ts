import type { ApiRequest } from '@lcm/contract/wire'
import { type Actor, ROLES } from '@lcm/domain/actor'
import type { Clock } from '@lcm/runtime/clock'
import { z } from 'zod'
import type { Sealing } from '../resources/secret/sealing.ts'
import { cookieIn, cookieName, setCookie } from './cookies.ts'
import { cameByHttps } from './request-origin.ts'
import { sameSecret } from './secret-digest.ts'

export const SESSION_MS = 12 * 60 * 60_000
const PURPOSE = 'session'
const COOKIE = 'lcm_session'

const Session = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  /** Milliseconds since the epoch. */
  exp: z.number(),
  /** Token or provider of the login: the session ends with it. */
  key: z.string(),
})

export interface BrowserSessions {
  /** Cookie that logs a browser in. */
  begin(request: ApiRequest, actor: Actor, key: string): string
  /** Cookie that logs it out. */
  end(request: ApiRequest): string
  /** Null for a missing, forged or expired cookie. */
  read(request: ApiRequest): Promise<Actor | null>
}

/**
 * Sessions are stored only in the browser, sealed with the installation's key: any replica reads them, and they survive
 * restarts.
 */
export function browserSessions(options: {
  clock: Clock
  sealing: Sealing
  publicUrl: string | null
  keyOf: (actorId: string) => Promise<string | null>
}): BrowserSessions {
  const { clock, sealing } = options
  const cookie = (request: ApiRequest, value: string, maxAgeMs: number) =>
    setCookie({
      name: cookieName(COOKIE, request),
      value,
      path: '/',
      sameSite: 'Strict',
      maxAgeMs,
      secure: cameByHttps(request, options.publicUrl),
    })
  return {
    begin(request, { id, name, role }, key) {
      const session: z.infer<typeof Session> = { id, name, role, exp: clock.now() + SESSION_MS, key }
      return cookie(request, sealing.seal(JSON.stringify(session), PURPOSE), SESSION_MS)
    },
    end: request => cookie(request, '', 0),
    async read(request) {
      const value = cookieIn(request, cookieName(COOKIE, request))
      const opened = value === null ? null : sealing.open(value, PURPOSE)
      const session = opened === null ? null : Session.safeParse(JSON.parse(opened)).data
      if (!session || session.exp <= clock.now()) return null
      const { id, name, role, key } = session
      const current = await options.keyOf(id)
      return current !== null && sameSecret(current, key) ? { id, name, role, service: null } : null
    },
  }
}
