import { createHmac } from 'node:crypto'
import type { CmlServerContext } from './server-context.ts'
import type { CmlServer, CmlSession, CmlUser } from './server-state.ts'

const SESSIONS_MAX = 1000

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** Opens a session. The token has CML's format: a JWT signed with HS256, without an id of its own. */
export function openSession(
  context: CmlServerContext,
  user: CmlUser,
): { readonly token: string; readonly server: CmlServer } {
  const { server, nowMs } = context
  const lifetimeMs = server.session_timeout_s * 1000 * context.faults.session_lifetime_factor
  const session = { user_id: user.id, issued_ms: nowMs, expires_ms: nowMs + lifetimeMs }
  const claims = { iss: 'com.cisco.virl', iat: seconds(nowMs), exp: seconds(session.expires_ms), sub: user.id }
  const signed = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded(claims)}`
  const secret = context.hex(64, 'session', server.logins_made)
  const signature = createHmac('sha256', secret).update(signed).digest('base64url')
  return { token: `${signed}.${signature}`, server: withSession(server, { ...session, signature }, nowMs) }
}

function withSession(server: CmlServer, session: CmlSession, nowMs: number): CmlServer {
  const alive = server.sessions.filter(({ expires_ms }) => expires_ms > nowMs).slice(1 - SESSIONS_MAX)
  return { ...server, sessions: [...alive, session], logins_made: server.logins_made + 1 }
}

const seconds = (ms: number): number => Math.floor(ms / 1000)

/** The session of a token, or null. Only the signature is compared. */
export function sessionOf({ server, nowMs }: CmlServerContext, token: string | null): CmlSession | null {
  const signature = token?.split('.')[2] ?? ''
  return server.sessions.find(session => session.signature === signature && session.expires_ms > nowMs) ?? null
}

export const closeSession = (server: CmlServer, signature: string): CmlServer => ({
  ...server,
  sessions: server.sessions.filter(session => session.signature !== signature),
})

export const closeSessionsOf = (server: CmlServer, userId: string): CmlServer => ({
  ...server,
  sessions: server.sessions.filter(session => session.user_id !== userId),
})
