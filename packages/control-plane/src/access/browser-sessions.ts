import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/route-spec'
import { type Actor, ROLES } from '@lcm/domain/actor'
import type { Clock } from '@lcm/runtime/clock'
import { z } from 'zod'
import { type Sealing, sameSecret } from '../crypto.ts'

const SESSION_MS = 12 * 60 * 60_000
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

/** Browsers share cookies between the ports of a host. The port in the name keeps two installations on one host apart. */
export function cookieName(stem: string, request: ApiRequest): string {
  const port = /:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1]
  return port === undefined ? stem : `${stem}_${port}`
}

export function cookieIn(request: ApiRequest, name: string): string | null {
  const match = (request.headers.cookie ?? '')
    .split(';')
    .map(part => part.trim())
    .find(part => part.startsWith(`${name}=`))
  return match === undefined ? null : match.slice(name.length + 1)
}

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly sameSite: 'Strict' | 'Lax'
  /** 0 deletes the cookie. */
  readonly maxAgeMs: number
  readonly secure: boolean
}

/** Cookies are HttpOnly: scripts never see them. */
export function setCookie({ name, value, path, sameSite, maxAgeMs, secure }: Cookie): string {
  const attributes = `Path=${path}; HttpOnly; SameSite=${sameSite}; Max-Age=${Math.floor(maxAgeMs / 1000)}`
  return `${name}=${value}; ${attributes}${secure ? '; Secure' : ''}`
}

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
