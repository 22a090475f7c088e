import type { Reason } from '@lcm/domain/reason'
import { redactReason } from '@lcm/domain/redact-reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import type { LeaderStatus } from '@lcm/runtime'

export interface ControllerHealth {
  readonly status: 'healthy' | 'degraded' | 'unhealthy'
  readonly is_leader: boolean
  readonly instance_id: string
  readonly last_reconciliation: string | null
  /** Counts of managed resources, such as `workers_managed`. */
  readonly [count: `${string}_managed` | `${string}_with_drift`]: number
  /** Causes of a status that is not healthy. */
  readonly problems: readonly Reason[]
}

/** The HTTP API of every controller, on a port of its own or on the product port. */
export interface AdminApi {
  readonly service: string
  readonly version: string
  health(): ControllerHealth
  /** The condition that `/ready` waits for, in a few words; null when ready. */
  waitsFor(): string | null
  leader(): LeaderStatus
  metrics(): Promise<string>
  /** Counters since the process started, by name. */
  stats(): Readonly<Record<string, number>>
  plan(): readonly PlannedAction[]
  /** Reconciles everything now; false when this instance does not lead. */
  trigger(): boolean
  resign(): Promise<void>
}

export interface AdminResponse {
  readonly status: number
  /** A string is in the text format of Prometheus; an object is JSON. */
  readonly body: object | string
}

type Access = 'public' | 'authenticated' | 'admin'

interface AdminRoute {
  readonly access: Access
  answer(api: AdminApi, roleOf: RoleOf): AdminResponse | Promise<AdminResponse>
}
/** The role of the caller, or null for an unknown one. */
type RoleOf = () => Promise<string | null>

/** Leader and standby are equally healthy: `/health` tells whether the process works, not whether it leads. */
const ROUTES: Readonly<Record<string, AdminRoute>> = {
  'GET /health': {
    access: 'public',
    async answer(api, roleOf) {
      const body = await healthFor(roleOf, api.health())
      return { status: body.status === 'unhealthy' ? 503 : 200, body }
    },
  },
  'GET /ready': {
    access: 'public',
    answer(api) {
      const waits_for = api.waitsFor()
      return waits_for === null
        ? { status: 200, body: { ready: true } }
        : { status: 503, body: { ready: false, waits_for } }
    },
  },
  'GET /info': { access: 'public', answer: ({ service, version }) => ({ status: 200, body: { service, version } }) },
  'GET /metrics': { access: 'authenticated', answer: async api => ({ status: 200, body: await api.metrics() }) },
  'GET /admin/stats': { access: 'admin', answer: api => ({ status: 200, body: api.stats() }) },
  'GET /admin/plan': { access: 'admin', answer: api => ({ status: 200, body: { items: api.plan() } }) },
  'GET /admin/leader-status': { access: 'admin', answer: api => ({ status: 200, body: api.leader() }) },
  'POST /admin/trigger-reconcile': {
    access: 'admin',
    answer: api =>
      api.trigger()
        ? { status: 202, body: { triggered: true } }
        : problem(409, 'not_leader', 'this instance is not the leader'),
  },
  'POST /admin/resign-leadership': {
    access: 'admin',
    async answer(api) {
      await api.resign()
      return { status: 202, body: { resigned: true } }
    },
  },
}

const READ_DETAILS: readonly (string | null)[] = ['admin', 'operator', 'controller']

/** Health never fails for a wrong token. Problems may name accounts and addresses, which operators may read. */
async function healthFor(roleOf: RoleOf, health: ControllerHealth): Promise<ControllerHealth> {
  if (health.problems.length === 0 || READ_DETAILS.includes(await roleOf().catch(() => null))) return health
  return { ...health, problems: health.problems.map(redactReason) }
}

/** `roleOf` is called only where the role matters. */
export async function answerAdminRequest(
  api: AdminApi,
  request: { method: string; path: string },
  roleOf: RoleOf,
): Promise<AdminResponse> {
  const route = ROUTES[`${request.method} ${request.path}`]
  if (route === undefined) return problem(404, 'not_found', `no route at ${request.path}`)
  if (route.access === 'public') return route.answer(api, roleOf)
  const role = await roleOf()
  if (role === null) return problem(401, 'unauthenticated', 'send a bearer token of this LCM')
  if (route.access === 'admin' && role !== 'admin')
    return problem(403, 'forbidden', `role ${role} is not allowed to do this`)
  return route.answer(api, roleOf)
}

export const problem = (status: number, code: string, detail: string): AdminResponse => ({
  status,
  body: { type: `/api/docs#${code}`, title: code, status, detail, code },
})
