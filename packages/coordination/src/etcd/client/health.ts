import type { Clock, Logger } from '@lcm/runtime'
import type { EtcdError, EtcdProblemCode } from './problem.ts'

/** For a health route. No field holds a secret. */
export interface EtcdHealth {
  readonly state: 'starting' | 'healthy' | 'unhealthy'
  readonly problem: { readonly code: EtcdProblemCode; readonly message: string; readonly since: string } | null
  readonly endpoints: readonly EndpointHealth[]
}

export interface EndpointHealth {
  readonly endpoint: string
  /** Null until it was asked for the first time. */
  readonly reachable: boolean | null
  readonly error: string | null
}

/** What was asked for: whatever a success proves, it proves for its own kind. */
export type Asked = 'status' | 'read' | 'write'

export interface HealthBook {
  /** One endpoint answered, or failed us; another may still do what was asked. */
  answered(endpoint: string): void
  missed(error: EtcdError): void
  /** What was asked has been done, or could not be done by anybody. */
  done(asked: Asked): void
  failed(asked: Asked, error: EtcdError): void
  health(): EtcdHealth
}

interface Problem {
  readonly asked: Asked
  readonly error: EtcdError
  /** When etcd was last well. */
  readonly sinceMs: number
  readonly loggedAtMs: number
}

/** Whoever got any answer at all has none of these any more. */
const ENDED_BY_ANY_ANSWER: readonly EtcdProblemCode[] = ['etcd_unreachable', 'etcd_untrusted', 'etcd_no_leader']
const LOG_AGAIN_MS = 60_000
const LOG_CHANGE_MS = 10_000

interface Book {
  readonly clock: Clock
  readonly logger: Logger
  readonly endpoints: Map<string, EtcdError | null | undefined>
  problem: Problem | null
  hasBegun: boolean
}

/** Keeps what is known about etcd, and logs every change of it once, not every call that fails. */
export function healthBook(endpoints: readonly string[], clock: Clock, logger: Logger): HealthBook {
  const book: Book = {
    clock,
    logger,
    endpoints: new Map(endpoints.map(endpoint => [endpoint, undefined])),
    problem: null,
    hasBegun: false,
  }
  return {
    answered: endpoint => noteAnswer(book, endpoint),
    missed: error => noteMiss(book, error),
    done: asked => noteDone(book, asked),
    failed: (asked, error) => noteProblem(book, asked, error),
    health: () => healthOf(book),
  }
}

function noteAnswer({ endpoints, logger }: Book, endpoint: string): void {
  if (endpoints.get(endpoint) && endpoints.size > 1) logger.info({ endpoint }, `etcd at ${endpoint} answers again`)
  endpoints.set(endpoint, null)
}

/** The problem of all is logged as such; here only what one of several members has alone, and only that it began. */
function noteMiss({ endpoints, logger }: Book, error: EtcdError): void {
  const isNews = !endpoints.get(error.endpoint)
  if (isNews && endpoints.size > 1) logger.warn({ endpoint: error.endpoint, code: error.code }, error.message)
  endpoints.set(error.endpoint, error)
}

function noteDone(book: Book, asked: Asked): void {
  book.hasBegun = true
  const { problem, logger } = book
  if (problem === null || !proves(asked, problem)) return
  book.problem = null
  logger.info({ code: problem.error.code }, 'etcd does what it is asked again')
}

function proves(asked: Asked, { asked: failed, error }: Problem): boolean {
  return asked === 'write' || asked === failed || ENDED_BY_ANY_ANSWER.includes(error.code)
}

function noteProblem(book: Book, asked: Asked, error: EtcdError): void {
  const { clock, logger, problem } = book
  const nowMs = clock.monotonic()
  const isLogged = problem === null || nowMs - problem.loggedAtMs >= silenceMs(problem, error)
  if (isLogged) logger.error({ endpoint: error.endpoint, code: error.code }, error.message)
  book.hasBegun = true
  book.problem = {
    // Whether etcd is full is seen by its alarms, which need no write.
    asked: error.code === 'etcd_no_space' ? 'status' : asked,
    error,
    sinceMs: problem?.sinceMs ?? clock.now(),
    loggedAtMs: isLogged ? nowMs : problem.loggedAtMs,
  }
}

/** A dead line is slow now and unreachable then: that it looks different is news, but not every time. */
const silenceMs = (before: Problem, now: EtcdError) => (before.error.code === now.code ? LOG_AGAIN_MS : LOG_CHANGE_MS)

const healthOf = ({ problem, hasBegun, endpoints }: Book): EtcdHealth => ({
  state: problem !== null ? 'unhealthy' : hasBegun ? 'healthy' : 'starting',
  problem: problem && {
    code: problem.error.code,
    message: problem.error.message,
    since: new Date(problem.sinceMs).toISOString(),
  },
  endpoints: [...endpoints].map(([endpoint, error]) => ({
    endpoint,
    reachable: error === undefined ? null : error === null,
    error: error?.message ?? null,
  })),
})
