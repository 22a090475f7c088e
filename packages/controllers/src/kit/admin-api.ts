import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import type { LeaderStatus } from '@lcm/runtime'

export interface ControllerHealth {
  readonly status: 'healthy' | 'degraded' | 'unhealthy'
  readonly is_leader: boolean
  readonly instance_id: string
  readonly last_reconciliation: string | null
  /** What it looks after, by name, such as `workers_managed`. */
  readonly [count: `${string}_managed` | `${string}_with_drift`]: number
  /** What keeps it from being healthy, each in a sentence. */
  readonly problems: readonly string[]
}

/** What a controller shows of itself over HTTP. The same for all of them, alone or on the product port. */
export interface ControllerFace {
  readonly service: string
  readonly version: string
  health(): ControllerHealth
  /** What keeps it from being counted on, in a few words; null when nothing does. */
  waitsFor(): string | null
  leader(): LeaderStatus
  metrics(): Promise<string>
  /** What it has done since it began, by name. */
  stats(): Readonly<Record<string, number>>
  plan(): readonly PlannedAction[]
  /** Looks at everything now; false when this instance does not lead. */
  trigger(): boolean
  resign(): Promise<void>
}

export interface FaceAnswer {
  readonly status: number
  /** Text is Prometheus' format; all else is JSON. */
  readonly body: object | string
}

type Who = 'anyone' | 'known' | 'admin'

interface FaceRoute {
  readonly who: Who
  answer(face: ControllerFace): FaceAnswer | Promise<FaceAnswer>
}

/** Leader and standby are equally healthy: health tells whether the process works, not whether it won. */
const ROUTES: Readonly<Record<string, FaceRoute>> = {
  'GET /health': {
    who: 'anyone',
    answer(face) {
      const body = face.health()
      return { status: body.status === 'unhealthy' ? 503 : 200, body }
    },
  },
  'GET /ready': {
    who: 'anyone',
    answer(face) {
      const waits_for = face.waitsFor()
      return waits_for === null
        ? { status: 200, body: { ready: true } }
        : { status: 503, body: { ready: false, waits_for } }
    },
  },
  'GET /info': { who: 'anyone', answer: ({ service, version }) => ({ status: 200, body: { service, version } }) },
  'GET /metrics': { who: 'known', answer: async face => ({ status: 200, body: await face.metrics() }) },
  'GET /admin/stats': { who: 'admin', answer: face => ({ status: 200, body: face.stats() }) },
  'GET /admin/plan': { who: 'admin', answer: face => ({ status: 200, body: { items: face.plan() } }) },
  'GET /admin/leader-status': { who: 'admin', answer: face => ({ status: 200, body: face.leader() }) },
  'POST /admin/trigger-reconcile': {
    who: 'admin',
    answer: face =>
      face.trigger()
        ? { status: 202, body: { triggered: true } }
        : refusal(409, 'not_leader', 'this instance does not lead'),
  },
  'POST /admin/resign-leadership': {
    who: 'admin',
    async answer(face) {
      await face.resign()
      return { status: 202, body: { resigned: true } }
    },
  },
}

/** `roleOf` answers the caller's role, or null for a stranger; it is asked only where it matters. */
export async function answerOf(
  face: ControllerFace,
  request: { method: string; path: string },
  roleOf: () => Promise<string | null>,
): Promise<FaceAnswer> {
  const route = ROUTES[`${request.method} ${request.path}`]
  if (route === undefined) return refusal(404, 'not_found', `nothing is at ${request.path}`)
  if (route.who === 'anyone') return route.answer(face)
  const role = await roleOf()
  if (role === null) return refusal(401, 'unauthenticated', 'send a bearer token that the API knows')
  if (route.who === 'admin' && role !== 'admin') return refusal(403, 'forbidden', `${role} may not do this`)
  return route.answer(face)
}

export const refusal = (status: number, code: string, detail: string): FaceAnswer => ({
  status,
  body: { type: `/api/docs#${code}`, title: code, status, detail, code },
})
