import type { Clock, Logger } from '@lcm/runtime'
import type { EtcdError, EtcdErrorCode } from './errors.ts'

/** Body of a health route. No field holds a secret. */
export interface EtcdHealth {
  readonly state: 'starting' | 'healthy' | 'unhealthy'
  readonly problem: {
    readonly code: EtcdErrorCode
    readonly message: string
    readonly advice: string
    readonly since: string
  } | null
  readonly endpoints: readonly EndpointHealth[]
}

export interface EndpointHealth {
  readonly endpoint: string
  /** Null before the first call. */
  readonly reachable: boolean | null
  readonly error: string | null
}

/** Kind of a call. A success proves health only for its own kind. */
export type CallKind = 'status' | 'read' | 'write'

export interface HealthTracker {
  /** One endpoint responded or failed; another may still serve the call. */
  answered(endpoint: string): void
  missed(error: EtcdError): void
  /** The call succeeded, or failed at every member. */
  done(kind: CallKind): void
  failed(kind: CallKind, error: EtcdError): void
  health(): EtcdHealth
}

interface Problem {
  readonly kind: CallKind
  readonly error: EtcdError
  /** When etcd was last healthy. */
  readonly sinceMs: number
  readonly loggedAtMs: number
}

/** Problems that any response at all disproves. */
const ENDED_BY_ANY_RESPONSE: readonly EtcdErrorCode[] = ['etcd_unreachable', 'etcd_untrusted', 'etcd_no_leader']
const LOG_AGAIN_MS = 60_000
const LOG_CHANGE_MS = 10_000

interface Tracker {
  readonly clock: Clock
  readonly logger: Logger
  readonly endpoints: Map<string, EtcdError | null | undefined>
  problem: Problem | null
  hasStarted: boolean
}

/** Tracks etcd's health and logs every change once, not every failed call. */
export function healthTracker(endpoints: readonly string[], clock: Clock, logger: Logger): HealthTracker {
  const tracker: Tracker = {
    clock,
    logger,
    endpoints: new Map(endpoints.map(endpoint => [endpoint, undefined])),
    problem: null,
    hasStarted: false,
  }
  return {
    answered: endpoint => noteAnswer(tracker, endpoint),
    missed: error => noteMiss(tracker, error),
    done: kind => noteDone(tracker, kind),
    failed: (kind, error) => noteProblem(tracker, kind, error),
    health: () => healthOf(tracker),
  }
}

const logText = ({ message, advice }: EtcdError): string => `${message}; ${advice}`

function noteAnswer({ endpoints, logger }: Tracker, endpoint: string): void {
  if (endpoints.get(endpoint) && endpoints.size > 1) logger.info({ endpoint }, `etcd at ${endpoint} responds again`)
  endpoints.set(endpoint, null)
}

/**
 * Logs only the start of a problem that one of several members has alone; a problem of all members is logged elsewhere.
 */
function noteMiss({ endpoints, logger }: Tracker, error: EtcdError): void {
  const isNew = !endpoints.get(error.endpoint)
  if (isNew && endpoints.size > 1) logger.warn({ endpoint: error.endpoint, code: error.code }, logText(error))
  endpoints.set(error.endpoint, error)
}

function noteDone(tracker: Tracker, kind: CallKind): void {
  tracker.hasStarted = true
  const { problem, logger } = tracker
  if (problem === null || !proves(kind, problem)) return
  tracker.problem = null
  logger.info({ code: problem.error.code }, 'etcd is healthy again')
}

function proves(kind: CallKind, { kind: failed, error }: Problem): boolean {
  return kind === 'write' || kind === failed || ENDED_BY_ANY_RESPONSE.includes(error.code)
}

function noteProblem(tracker: Tracker, kind: CallKind, error: EtcdError): void {
  const { clock, logger, problem } = tracker
  const nowMs = clock.monotonic()
  const isLogged = problem === null || nowMs - problem.loggedAtMs >= silenceMs(problem, error)
  if (isLogged) logger.error({ endpoint: error.endpoint, code: error.code }, logText(error))
  tracker.hasStarted = true
  tracker.problem = {
    // Alarms show whether etcd is full, without a write.
    kind: error.code === 'etcd_no_space' ? 'status' : kind,
    error,
    sinceMs: problem?.sinceMs ?? clock.now(),
    loggedAtMs: isLogged ? nowMs : problem.loggedAtMs,
  }
}

/** A dead connection is sometimes slow and sometimes unreachable: the change is worth logging, but not every time. */
const silenceMs = (before: Problem, now: EtcdError) => (before.error.code === now.code ? LOG_AGAIN_MS : LOG_CHANGE_MS)

const healthOf = ({ problem, hasStarted, endpoints }: Tracker): EtcdHealth => ({
  state: problem !== null ? 'unhealthy' : hasStarted ? 'healthy' : 'starting',
  problem: problem && {
    code: problem.error.code,
    message: problem.error.message,
    advice: problem.error.advice,
    since: new Date(problem.sinceMs).toISOString(),
  },
  endpoints: [...endpoints].map(([endpoint, error]) => ({
    endpoint,
    reachable: error === undefined ? null : error === null,
    error: error?.message ?? null,
  })),
})
