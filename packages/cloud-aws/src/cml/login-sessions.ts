import { createHash } from 'node:crypto'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError } from '@lcm/cloud/errors'
import type { Clock } from '@lcm/runtime/clock'
import { errorFromResponse, malformedResponse } from './api-errors.ts'
import { setBounded } from './bounded-map.ts'
import type { HttpResponse } from './http-client.ts'
import { jsonIn, recordIn, textIn } from './json-readers.ts'

/**
 * First and last pause; each one doubles. A rejected login counts against the account, and operators need time to fix
 * it.
 */
const REFUSAL_PAUSE_MS = { first: 60_000, last: 5 * 60_000 }
/** Characters allowed in a header. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/

export interface Session {
  readonly token: string
  /** Id of our user on that server. */
  readonly userId: string | null
}

export interface CmlSessions {
  /**
   * Logs in if there is no session yet. Callers of the same login share one attempt, which no single caller can cancel.
   */
  current(login: CmlLogin): Promise<Session>
  /** The server no longer knows `stale`. */
  renewed(login: CmlLogin, stale: Session): Promise<Session>
  /** Ends the session of `current`; the next caller logs in. */
  forget(login: CmlLogin, session: Session): void
}

export type SendLogin = (login: CmlLogin, path: LoginPath, body: string) => Promise<HttpResponse>
export type LoginPath = '/auth_extended' | '/authenticate'

interface Entry {
  session: Session | null
  attempt: Promise<Session> | null
  /** A rejected password is not retried for a while, so that a wrong configuration does not cause a storm of logins. */
  refusal: { readonly error: CloudError; readonly pauseMs: number; readonly untilMs: number } | null
}

export function cmlLogins(clock: Clock, send: SendLogin): CmlSessions {
  const entries = new Map<string, Entry>()
  function entryOf(login: CmlLogin): Entry {
    const key = keyOf(login)
    const entry = entries.get(key) ?? { session: null, attempt: null, refusal: null }
    setBounded(entries, key, entry)
    return entry
  }
  function attempted(entry: Entry, login: CmlLogin): Promise<Session> {
    if (entry.refusal && entry.refusal.untilMs > clock.monotonic()) return Promise.reject(entry.refusal.error)
    entry.attempt ??= loggedIn(login, send)
      .then(
        session => {
          entry.session = session
          entry.refusal = null
          return session
        },
        (error: unknown) => {
          if (error instanceof CloudError && error.errorClass === 'auth') entry.refusal = refusalAfter(entry, error)
          throw error
        },
      )
      .finally(() => {
        entry.attempt = null
      })
    return entry.attempt
  }
  function refusalAfter({ refusal: before }: Entry, error: CloudError): Entry['refusal'] {
    const pauseMs = Math.min(before ? 2 * before.pauseMs : REFUSAL_PAUSE_MS.first, REFUSAL_PAUSE_MS.last)
    return { error, pauseMs, untilMs: clock.monotonic() + pauseMs }
  }
  function forget(entry: Entry, session: Session): void {
    if (entry.session === session) entry.session = null
  }
  return {
    async current(login) {
      const entry = entryOf(login)
      return entry.session ?? attempted(entry, login)
    },
    async renewed(login, stale) {
      const entry = entryOf(login)
      forget(entry, stale)
      return entry.session ?? attempted(entry, login)
    },
    forget: (login, session) => forget(entryOf(login), session),
  }
}

function keyOf({ url, certificate_sha256, username, password }: CmlLogin): string {
  const secret = createHash('sha256')
    .update(JSON.stringify([username, password]))
    .digest('hex')
  return `${url} ${certificate_sha256} ${secret}`
}

/** `authenticate` is the older call, which does not name our user. */
async function loggedIn(login: CmlLogin, send: SendLogin): Promise<Session> {
  const { username, password } = login
  const body = JSON.stringify({ username, password })
  const extended = await send(login, '/auth_extended', body)
  if (extended.status !== 404) return sessionIn('/auth_extended', extended, password)
  return sessionIn('/authenticate', await send(login, '/authenticate', body), password)
}

function sessionIn(path: LoginPath, answer: HttpResponse, password: string): Session {
  const action = `POST ${path}`
  if (answer.status !== 200) throw errorFromResponse(answer, { action, secrets: [password], ids: [] })
  const value = jsonIn(answer.text)
  const token = typeof value === 'string' ? value : textIn(value, 'token')
  if (token === null || !TOKEN.test(token)) throw malformedResponse(action, 'answered 200 without a token')
  return { token, userId: textIn(value, 'id') ?? subjectOf(token) }
}

/** A session token names its user. It is not used for trust, so its signature is not checked. */
function subjectOf(token: string): string | null {
  const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
  return textIn(recordIn(jsonIn(claims)), 'sub')
}
