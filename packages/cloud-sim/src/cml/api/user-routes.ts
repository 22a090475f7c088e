import { CmlRefusal, DONE, instantText, OK } from '../http-messages.ts'
import { anyObject, flag, jsonBody, listOf, nullable, object, text } from '../input-checks.ts'
import type { CmlServerContext, UserCall } from '../server-context.ts'
import { type CmlServer, type CmlUser, withPassword } from '../server-state.ts'
import { admin, type Route, user } from './route.ts'

const PASSWORD_CHARS_MIN = 8

interface Profile {
  readonly fullname: string
  readonly description: string
  readonly email: string
  readonly admin: boolean
  readonly groups: readonly string[]
  readonly associations: readonly object[]
  readonly resource_pool: string | null
  readonly opt_in: boolean | null
  readonly tour_version: string
  readonly pubkey: string
}

const PROFILE = {
  fullname: text(128),
  description: text(4096),
  email: text(128),
  admin: flag,
  groups: listOf(text(36)),
  associations: listOf(anyObject),
  resource_pool: nullable(text(36)),
  opt_in: nullable(flag),
  tour_version: text(128),
  pubkey: text(4096),
} as const

const newUser = object<{ username: string; password: string }, Profile>(
  { username: text(32, 1), password: text(1024) },
  PROFILE,
)

interface PasswordChange {
  readonly new_password: string
  readonly old_password?: string
}
const userUpdate = object<object, Profile & { username: string; password: PasswordChange }>(
  {},
  {
    ...PROFILE,
    username: text(32, 1),
    password: object<{ new_password: string }, { old_password: string }>(
      { new_password: text(1024) },
      { old_password: text(1024) },
    ),
  },
)

export const userView = ({ labs }: CmlServerContext, account: CmlUser) => ({
  id: account.id,
  username: account.username,
  fullname: account.fullname,
  description: account.description,
  email: account.email,
  admin: account.admin,
  groups: [],
  associations: [],
  resource_pool: null,
  opt_in: null,
  tour_version: '',
  created: instantText(account.created_ms),
  modified: instantText(account.modified_ms),
  directory_dn: '',
  labs: labs.filter(lab => lab.owner === account.id).map(lab => lab.id),
  pubkey_info: '',
})

function accountOf({ context, params }: UserCall): CmlUser {
  const found = context.server.users.find(account => account.id === params.user_id)
  if (!found) throw new CmlRefusal(404, `User not found: ${params.user_id}`)
  return found
}

/** Creates an account on the server. */
export function withUser(
  context: CmlServerContext,
  account: { username: string; password: string } & Partial<Profile>,
) {
  const { server, nowMs } = context
  const made: CmlUser = {
    id: context.uuid('user', server.users_made),
    username: account.username,
    password: account.password,
    fullname: account.fullname ?? '',
    description: account.description ?? '',
    email: account.email ?? '',
    admin: account.admin ?? false,
    created_ms: nowMs,
    modified_ms: nowMs,
  }
  const users = [...server.users, made]
  return { made, server: { ...server, users, users_made: server.users_made + 1 } }
}

function created({ context, request }: UserCall) {
  const account = jsonBody(request.body, newUser)
  if (context.server.users.some(({ username }) => username === account.username)) {
    throw new CmlRefusal(422, `User already exists: ${account.username}`)
  }
  checkPassword(account.password)
  const { made, server } = withUser(context, account)
  return { status: 201, body: userView(context, made), change: { server } }
}

function checkPassword(password: string): void {
  if (password.length < PASSWORD_CHARS_MIN) throw new CmlRefusal(403, 'Password validation failure! Reason: Length')
}

function updated(call: UserCall) {
  const { context, request, user: self } = call
  const account = accountOf(call)
  if (!self.admin && self.id !== account.id) throw new CmlRefusal(403, 'User does not have required access: admin')
  const { password, username, fullname, description, email, admin: isAdmin } = jsonBody(request.body, userUpdate)
  const changed: CmlUser = {
    ...account,
    username: username ?? account.username,
    fullname: fullname ?? account.fullname,
    description: description ?? account.description,
    email: email ?? account.email,
    admin: self.admin && isAdmin !== undefined ? isAdmin : account.admin,
    modified_ms: context.nowMs,
  }
  const users = context.server.users.map(one => (one.id === account.id ? changed : one))
  const server = { ...context.server, users }
  return {
    ...OK(userView(context, changed)),
    change: { server: password ? repassworded(server, { self, account, password }) : server },
  }
}

function repassworded(
  server: CmlServer,
  { self, account, password }: { self: CmlUser; account: CmlUser; password: PasswordChange },
): CmlServer {
  if (!self.admin && password.old_password !== account.password) throw new CmlRefusal(403, 'Old password is wrong.')
  checkPassword(password.new_password)
  return withPassword(server, account.id, password.new_password)
}

function deleted(call: UserCall) {
  const account = accountOf(call)
  if (account.id === call.user.id) throw new CmlRefusal(400, 'Users cannot delete themselves.')
  const { server } = call.context
  const users = server.users.filter(one => one.id !== account.id)
  const sessions = server.sessions.filter(session => session.user_id !== account.id)
  return { ...DONE, change: { server: { ...server, users, sessions } } }
}

function idOf({ context, params }: UserCall) {
  const found = context.server.users.find(account => account.username === params.user_id)
  if (!found) throw new CmlRefusal(404, `User not found: ${params.user_id}`)
  return OK(found.id)
}

export const USER_ROUTES: readonly Route[] = [
  user('GET /users', ({ context }) => OK(context.server.users.map(account => userView(context, account)))),
  admin('POST /users', created),
  user('GET /users/:user_id', call => OK(userView(call.context, accountOf(call)))),
  user('PATCH /users/:user_id', updated),
  admin('DELETE /users/:user_id', deleted),
  user('GET /users/:user_id/id', idOf),
  user('GET /users/:user_id/groups', call => OK(accountOf(call) && [])),
  user('GET /groups', () => OK([])),
  user('GET /resource_pools', () => OK([])),
  user('GET /resource_pool_usage', () => OK([])),
]
