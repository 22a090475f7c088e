import type { CmlRequest } from '../http-messages.ts'
import { CmlRefusal, refusal } from '../http-messages.ts'
import { sessionOf } from '../login-sessions.ts'
import { type CmlChange, type CmlServerContext, type Outcome, scaledMs, type UserCall } from '../server-context.ts'
import { ACTIVITY_EVERY_S, userActivity } from '../telemetry-events.ts'
import { DEFINITION_ROUTES } from './definition-routes.ts'
import { REPORT_ROUTES } from './diagnostics-and-telemetry-routes.ts'
import { LAB_READ_ROUTES } from './lab-read-routes.ts'
import { LAB_ROUTES } from './lab-routes.ts'
import { LICENSING_ROUTES } from './licensing-routes.ts'
import { AUTH_ROUTES } from './login-routes.ts'
import { NODE_ROUTES } from './node-routes.ts'
import { NOTICE_ROUTES } from './notice-routes.ts'
import { routerOf, type UserRoute } from './route.ts'
import { SYSTEM_ROUTES } from './system-routes.ts'
import { USER_ROUTES } from './user-routes.ts'

const route = routerOf([
  ...AUTH_ROUTES,
  ...SYSTEM_ROUTES,
  ...NOTICE_ROUTES,
  ...USER_ROUTES,
  ...LICENSING_ROUTES,
  ...LAB_ROUTES,
  ...LAB_READ_ROUTES,
  ...NODE_ROUTES,
  ...DEFINITION_ROUTES,
  ...REPORT_ROUTES,
])

/** Response of a CML server and the resulting change. Pure: nothing is stored here. */
export function answerTo(context: CmlServerContext, request: CmlRequest): Outcome {
  const found = route(request.method, request.path)
  if (found === 'unknown') return refusal(404, 'Not Found')
  if (found === 'wrong_method') return refusal(405, '405: Method Not Allowed')
  const call = { context, request, params: found.params }
  if (isRefused(context, request)) return refusal(403, 'Access to this resource is denied.')
  try {
    return found.route.access === 'open' ? found.route.handle(call) : asUser(found.route, call)
  } catch (error) {
    if (error instanceof CmlRefusal) return refusal(error.status, error.message)
    throw error
  }
}

const isRefused = ({ faults }: CmlServerContext, { path }: CmlRequest): boolean =>
  faults.refused_paths.some(refused => path === refused || path.startsWith(`${refused}/`))

function asUser(found: UserRoute, open: Omit<UserCall, 'user' | 'session'>): Outcome {
  const { context, request } = open
  const session = sessionOf(context, request.token)
  const user = context.server.users.find(({ id }) => id === session?.user_id)
  if (!session || !user) throw new CmlRefusal(401, 'Unauthorized')
  if (!user.admin && found.access === 'admin') throw new CmlRefusal(403, 'User does not have required access: admin')
  if (!user.admin && context.server.maintenance.is_on) throw new CmlRefusal(403, 'The system is in maintenance mode.')
  const outcome = found.handle({ ...open, user, session: session.signature })
  return { ...outcome, change: withActivity(context, outcome.change ?? {}, user.id) }
}

/** Every API call counts as activity, including LCM's own. */
export function withActivity(context: CmlServerContext, change: CmlChange, userId: string): CmlChange {
  const server = change.server ?? context.server
  const everyMs = scaledMs(context, ACTIVITY_EVERY_S)
  const activity = userActivity(server, userId, { nowMs: context.nowMs, everyMs })
  if (activity === null) return change
  return { ...change, server: activity.server, events: [activity.event, ...(change.events ?? [])] }
}
