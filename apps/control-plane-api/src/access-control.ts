import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest } from '@lcm/contract/wire'
import type { Actor } from '@lcm/domain/actor'
import type { Clock } from '@lcm/runtime/clock'

const COOKIE = 'lcm_session'
const SESSION_MS = 12 * 60 * 60_000
export const LOGIN_CODE_MS = 10 * 60_000
const LOGIN_CODES_MAX = 100

export interface AccessControl {
  /** Makes a token known. Only its hash is kept. */
  grant(token: string, actor: Actor): void
  /** Who is asking; refuses strangers, and browsers that were sent by another site. */
  identify(request: ApiRequest): Promise<Actor>
  /** A code that logs one browser in once, as an administrator. */
  createLoginCode(): string
  /** Spends a code and answers the cookie to set. */
  login(code: string, secure: boolean): string
}

/** `secretKey` signs browser sessions, so that they outlive a restart but not a new key. */
export function accessControl(options: {
  clock: Clock
  secretKey: Uint8Array
  randomBytes: (size: number) => Uint8Array
  findToken: (secret: string) => Promise<Actor | null>
}): AccessControl {
  const { clock, secretKey } = options
  const actors = new Map<string, Actor>()
  const loginCodes = new Map<string, number>()

  async function bearer(header: string): Promise<Actor> {
    const token = /^Bearer (\S{1,512})$/i.exec(header)?.[1]
    const actor = token === undefined ? null : (actors.get(hash(token)) ?? (await options.findToken(token)))
    if (!actor)
      throw new ProblemError(
        'unauthenticated',
        'the token is not known here; see --token, LCM_TOKEN or the data folder',
      )
    return actor
  }

  function session(cookie: string): Actor | null {
    const [expires, signature] = cookie.split('.')
    if (expires === undefined || signature === undefined) return null
    if (!sameText(signature, sign(secretKey, expires)) || Number(expires) < clock.now()) return null
    return { name: 'admin', role: 'admin', service: null }
  }

  return {
    grant: (token, actor) => void actors.set(hash(token), actor),
    async identify(request) {
      const { authorization, cookie } = request.headers
      if (authorization !== undefined) return bearer(authorization)
      const value = cookie === undefined ? null : cookieIn(cookie)
      const actor = value === null ? null : session(value)
      if (actor === null)
        throw new ProblemError('unauthenticated', 'send a bearer token, or open a login link: lcm open')
      if (request.method !== 'GET') refuseForeignOrigin(request)
      return actor
    },
    createLoginCode() {
      forgetOldCodes(loginCodes, clock.now())
      const code = Buffer.from(options.randomBytes(24)).toString('base64url')
      loginCodes.set(hash(code), clock.now() + LOGIN_CODE_MS)
      return code
    },
    login(code, secure) {
      const expires = loginCodes.get(hash(code))
      loginCodes.delete(hash(code))
      if (expires === undefined || expires < clock.now()) {
        throw new ProblemError(
          'login_code_invalid',
          'each link works once and for ten minutes; make a new one with: lcm open',
        )
      }
      const until = String(clock.now() + SESSION_MS)
      const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_MS / 1000}${secure ? '; Secure' : ''}`
      return `${COOKIE}=${until}.${sign(secretKey, until)}; ${attributes}`
    },
  }
}

function forgetOldCodes(codes: Map<string, number>, nowMs: number): void {
  for (const [code, expires] of codes) if (expires < nowMs || codes.size >= LOGIN_CODES_MAX) codes.delete(code)
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
const sign = (key: Uint8Array, text: string): string =>
  createHmac('sha256', key).update(`session:${text}`).digest('hex')

/** Compares digests, so the time tells nothing about where they differ. */
const sameText = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(hash(a)), Buffer.from(hash(b)))

function cookieIn(header: string): string | null {
  const match = header
    .split(';')
    .map(part => part.trim())
    .find(part => part.startsWith(`${COOKIE}=`))
  return match === undefined ? null : match.slice(COOKIE.length + 1)
}

/** The cookie goes out with requests that other sites make; only the page's own may change something. */
function refuseForeignOrigin(request: ApiRequest): void {
  const { origin, host } = request.headers
  const own = origin !== undefined && host !== undefined && URL.canParse(origin) && new URL(origin).host === host
  if (!own) throw new ProblemError('foreign_origin', 'only the console itself may act with a browser session')
}
