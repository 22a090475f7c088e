import { CmlRefusal, OK } from '../http-messages.ts'
import { checked, integer, jsonBody, object, queryFlag, text } from '../input-checks.ts'
import { closeSession, closeSessionsOf, openSession } from '../login-sessions.ts'
import type { OpenCall, UserCall } from '../server-context.ts'
import type { CmlUser } from '../server-state.ts'
import { admin, open, type Route, user } from './route.ts'

const credentials = object<{ username: string; password: string }, object>(
  { username: text(32, 1), password: text(1024) },
  {},
)

/** A wrong name or password returns 403. Clients rely on 401 meaning an invalid token. */
function userNamed({ context, request }: OpenCall): CmlUser {
  const { username, password } = jsonBody(request.body, credentials)
  const found = context.server.users.find(candidate => candidate.username === username)
  if (!found || found.password !== password) throw new CmlRefusal(403, 'Authentication failed!')
  return found
}

function authenticated(call: OpenCall) {
  const found = userNamed(call)
  const { token, server } = openSession(call.context, found)
  return { user: found, token, change: { server } }
}

function extended(call: OpenCall) {
  const { user: found, token, change } = authenticated(call)
  const { username, id, admin: isAdmin } = found
  return { ...OK({ username, id, token, admin: isAdmin, error: null }), change }
}

function loggedOut({ context, request, session, user: self }: UserCall) {
  const all = queryFlag(request.query, 'clear_all_sessions') === true
  const server = all ? closeSessionsOf(context.server, self.id) : closeSession(context.server, session)
  return { ...OK(true), change: { server } }
}

function sessionTimeout({ context, params }: UserCall) {
  const session_timeout_s = checked(Number(params.timeout), integer(300, 604_800), ['path', 'timeout'])
  return { ...OK('OK'), change: { server: { ...context.server, session_timeout_s } } }
}

export const LOGIN_PATHS: readonly string[] = ['/authenticate', '/auth_extended']

export const AUTH_ROUTES: readonly Route[] = [
  open('POST /authenticate', call => {
    const { token, change } = authenticated(call)
    return { ...OK(token), change }
  }),
  open('POST /auth_extended', extended),
  user('GET /authok', () => OK('OK')),
  user('DELETE /logout', loggedOut),
  user('GET /web_session_timeout', ({ context }) => OK(context.server.session_timeout_s)),
  admin('PATCH /web_session_timeout/:timeout', sessionTimeout),
]
