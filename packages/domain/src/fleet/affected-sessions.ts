import type { HealthStatus } from '../health.ts'
import type { Instant } from '../instant.ts'
import { Reason, type ReasonCode, reason, withoutAmounts } from '../reason.ts'
import type { LabletSession } from '../session/lablet-session.ts'

export interface AffectedSession {
  readonly session: LabletSession
  readonly since: Instant
}

/** Sessions that one cause keeps from being used, and what an operator can do about it. */
export interface AffectedSessions {
  /** The same for the same cause in a later list. */
  readonly key: string
  /** `OK` for sessions that wait for an operator and are not late yet. */
  readonly health: HealthStatus
  /** Says how many sessions are affected, and why. */
  readonly headline: Reason
  readonly cause: Reason
  /** Null while LCM does what is needed. */
  readonly fix: Reason | null
  /** The longest affected first. */
  readonly sessions: readonly AffectedSession[]
}

const GRAVITY: Readonly<Record<HealthStatus, number>> = { DOWN: 0, DEGRADED: 1, OK: 2 }

/** Groups the sessions that can't be used by their cause: the most serious first, then the largest. */
export function affectedSessions(sessions: Iterable<LabletSession>): AffectedSessions[] {
  const groups = new Map<string, { readonly cause: Reason; readonly affected: AffectedSession[] }>()
  for (const session of sessions) {
    const cause = causeOf(session)
    if (cause === null) continue
    const key = keyOf(session, cause)
    const group = groups.get(key) ?? { cause, affected: [] }
    group.affected.push({ session, since: session.health.since ?? session.entered_status_at })
    groups.set(key, group)
  }
  return [...groups]
    .map(([key, { cause, affected }]) => groupOf(key, cause, affected))
    .filter(({ health, fix }) => health !== 'OK' || fix !== null)
    .toSorted(
      (a, b) => GRAVITY[a.health] - GRAVITY[b.health] || b.sessions.length - a.sessions.length || compare(a.key, b.key),
    )
}

function groupOf(key: string, cause: Reason, affected: readonly AffectedSession[]): AffectedSessions {
  const sessions = affected.toSorted((a, b) => compare(a.since, b.since) || compare(a.session.id, b.session.id))
  const first = sessions[0]?.session
  const health = first?.health.status ?? 'OK'
  const placed = health === 'DOWN' ? 'sessions_down' : 'sessions_degraded'
  const code = first?.status === 'PENDING' ? 'sessions_waiting' : placed
  return {
    key,
    health,
    headline: reason(code, { sessions: sessions.length, cause }),
    cause,
    fix: fixOf(cause, sessions),
    sessions,
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const keyOf = ({ status, health }: LabletSession, cause: Reason): string =>
  [health.status, status === 'PENDING' ? 'waiting' : 'placed', JSON.stringify(withoutAmounts(cause))].join(' ')

/** What keeps the session from being used; null when nothing does. */
function causeOf({ status, health, waiting_reason, desired_status }: LabletSession): Reason | null {
  if (desired_status === 'TERMINATED') return null
  if (health.status !== 'OK') return rootOf(health.reason ?? reason('no_reason_recorded'))
  return status === 'PENDING' && waiting_reason !== null ? rootOf(waiting_reason) : null
}

/** The cause that sessions have in common: reasons that wrap it differ from session to session. */
function rootOf(because: Reason): Reason {
  const { code, params } = because
  const text = (name: string): string => String(params[name])
  const within = (name: string): Reason => {
    const inner = nested(params[name])
    return inner === null ? because : rootOf(inner)
  }
  switch (code) {
    case 'no_capacity':
      return within('scale_up')
    case 'scale_up_refused':
      return within('refusal')
    case 'unschedulable':
    case 'moved_session_waits':
      return within('cause')
    case 'region_limit':
      return reason('region_worker_limit', { region: text('region'), limit: Number(params.limit) })
    case 'lab_down':
      return reason('worker_status', { worker: text('worker'), status: text('status') })
    case 'lab_state_unknown':
      return reason('worker_not_serving', { worker: text('worker') })
    default:
      return because
  }
}

const nested = (value: unknown): Reason | null => Reason.safeParse(value).data ?? null

/** Machines in these states are about to run again. */
const RETURNING: ReadonlySet<unknown> = new Set(['STOPPING', 'STOPPED', 'STARTING', 'PENDING', 'PROVISIONING'])

function fixOf({ code, params }: Reason, sessions: readonly AffectedSession[]): Reason | null {
  const session_id = sessions[0]?.session.id ?? ''
  const worker = String(params.worker)
  switch (code) {
    case 'region_worker_limit':
      return reason('fix_worker_limit', { unlicensed: sessions.some(({ session }) => lacksLicense(session)) })
    case 'scale_up_disabled':
      return reason('fix_scale_up_disabled')
    case 'budget_exceeded':
      return reason('fix_budget', { period: params.period === 'month' ? 'month' : 'day' })
    case 'new_worker_too_late':
      return reason('fix_late_worker')
    case 'no_template_enabled':
    case 'no_template_fits':
      return reason('fix_template')
    case 'definition_deleted':
      return reason('fix_definition_deleted', { session_id })
    case 'waiting_for_placement':
      return reason('fix_scheduler')
    case 'worker_not_serving':
      return reason('fix_cml', { worker })
    case 'worker_status':
      return reason(RETURNING.has(params.status) ? 'fix_comes_back' : 'fix_worker', { worker })
    case 'lab_stopped_on_cml':
      return reason('fix_stopped_lab', { session_id })
    default:
      return RESOLVE_THEMSELVES.has(code) ? null : reason('fix_session', { session_id })
  }
}

/** Causes that LCM is removing already. */
const RESOLVE_THEMSELVES: ReadonlySet<string> = new Set<ReasonCode>([
  'scale_up_requested',
  'scale_up_cooldown',
  'scale_up_in_progress',
  'waiting_for_worker',
  'waiting_for_resume',
  'waiting_for_license',
  'waiting_for_node_definitions',
  'waiting_for_predecessors',
  'waiting_for_capacity',
  'session_starts_elsewhere',
  'lab_stopped_by_restart',
])

/** Whether only the license limits how many nodes a worker has for it. */
const lacksLicense = ({ waiting_reason }: LabletSession): boolean =>
  waiting_reason !== null && isUnlicensed(waiting_reason)

const isUnlicensed = ({ code, params }: Reason): boolean =>
  (code === 'insufficient_capacity' && params.node_limit !== null && params.license === null) ||
  Object.values(params).some(value => {
    const inner = nested(value)
    return inner !== null && isUnlicensed(inner)
  })
