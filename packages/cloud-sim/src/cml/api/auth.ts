import { CmlRefusal, OK } from '../http-messages.ts'
import { checked, integer, jsonBody, object, queryFlag, text } from '../input.ts'
import type { CmlUser } from '../server.ts'
import type { OpenCall, UserCall } from '../server-context.ts'
import { closeSession, closeSessionsOf, openSession } from '../sessions.ts'
import { admin, open, type Route, user } from './router.ts'

const credentials = object<{ username: string; password: string }, object>(
  { username: text(32, 1), password: text(1024) },
  {},
)

/** A wrong name or password is 403; 401 is for tokens alone, and clients rely on it. */
function userNamed({ scene, request }: OpenCall): CmlUser {
  const { username, password } = jsonBody(request.body, credentials)
  const found = scene.server.users.find(candidate => candidate.username === username)
  if (!found || found.password !== password) throw new CmlRefusal(403, 'Authentication failed!')
  return found
}

function authenticated(call: OpenCall) {
  const found = userNamed(call)
  const { token, server } = openSession(call.scene, found)
  return { user: found, token, change: { server } }
}

function extended(call: OpenCall) {
  const { user: found, token, change } = authenticated(call)
  const { username, id, admin: isAdmin } = found
  return { ...OK({ username, id, token, admin: isAdmin, error: null }), change }
}

function loggedOut({ scene, request, session, user: self }: UserCall) {
  const all = queryFlag(request.query, 'clear_all_sessions') === true
  const server = all ? closeSessionsOf(scene.server, self.id) : closeSession(scene.server, session)
  return { ...OK(true), change: { server } }
}

function sessionTimeout({ scene, params }: UserCall) {
  const session_timeout_s = checked(Number(params.timeout), integer(300, 604_800), ['path', 'timeout'])
  return { ...OK('OK'), change: { server: { ...scene.server, session_timeout_s } } }
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
  user('GET /web_session_timeout', ({ scene }) => OK(scene.server.session_timeout_s)),
  admin('PATCH /web_session_timeout/:timeout', sessionTimeout),
]
