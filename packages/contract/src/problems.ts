import { z } from 'zod'

/** Every refusal that the API can give. A code is never reused for another meaning. `help` says what to do. */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    help: 'The body is not JSON or not UTF-8. `detail` says where it stopped making sense.',
  },
  validation_failed: {
    status: 400,
    title: 'The request does not match its schema',
    help: 'The request does not match its schema. `errors` lists each field; `/api/v1/openapi.json` has the schema.',
  },
  topology_invalid: {
    status: 422,
    title: 'The topology is not a lab that CML could import',
    help: 'The YAML can not be read, or is not a CML lab. `errors` names each place with its line.',
  },
  port_node_unknown: {
    status: 422,
    title: 'A port leads to no node of the lab',
    help: 'A port of `port_template` names a node that the topology does not have; `detail` names those that it has.',
  },
  unauthenticated: {
    status: 401,
    title: 'Who are you?',
    help:
      'No token, or one that is not known here. Use `.lcm/admin-token`, `--token` or `LCM_TOKEN`; in a browser open a ' +
      'link from `lcm open`.',
  },
  login_code_invalid: {
    status: 401,
    title: 'The login link is used up, expired or wrong',
    help: 'A login link works once and for ten minutes. Make a new one with `lcm open`.',
  },
  forbidden: {
    status: 403,
    title: 'Your role does not allow this',
    help: 'You are known, but your role may not do this.',
  },
  foreign_origin: {
    status: 403,
    title: 'The request comes from another site',
    help: 'A browser session may act only from the console itself. Scripts use a token.',
  },
  not_found: {
    status: 404,
    title: 'There is no such thing',
    help: 'There is no such worker, template, definition, session, lab or path, or it is not yours to see.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This path does not take that method',
    help: 'The path exists but takes other methods; `detail` names them.',
  },
  already_exists: {
    status: 409,
    title: 'That name is taken',
    help: 'Another one has that name, machine or reservation.',
  },
  definition_deprecated: {
    status: 409,
    title: 'The definition is DEPRECATED',
    help: 'A newer version has taken its place, or somebody took it out of use. Change the newest version instead.',
  },
  definition_in_use: {
    status: 409,
    title: 'Sessions still need the definition',
    help: 'Sessions that are not over were booked from it. Deprecate it instead, or wait for them.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'The same request is still being carried out',
    help: 'A request with this `Idempotency-Key` began less than 30 s ago and has no answer yet. Repeat it after `Retry-After`.',
  },
  illegal_transition: {
    status: 409,
    title: 'It can not move between these statuses',
    help: 'A controller tried a move that the lifecycle does not have.',
  },
  lab_gone: {
    status: 409,
    title: 'The lab is not there any more',
    help: 'The lab was deleted, or a look at its worker did not find it.',
  },
  lab_in_use: {
    status: 409,
    title: 'A session uses the lab',
    help: 'The lab belongs to a session that is not over. Cancel the session instead.',
  },
  no_room: {
    status: 409,
    title: 'The worker has no room for it',
    help: 'The worker can not take the session or its ports now; `detail` says why. The scheduler looks for another place.',
  },
  scale_up_rejected: {
    status: 409,
    title: 'There is no room for more workers',
    help: 'A limit, a cooldown or a flight that is still under way forbids buying workers now; `detail` says which.',
  },
  session_over: {
    status: 409,
    title: 'The session is over',
    help: 'The session has ended, or is being ended. Book a new one.',
  },
  session_wrong_state: {
    status: 409,
    title: 'The session is not in a state for this',
    help: 'The session is not in a state in which this makes sense; `detail` has its status.',
  },
  source_inline: {
    status: 409,
    title: 'The topology was given inline',
    help: 'There is no source to fetch it from. PUT the definition with a new topology, or with a source.',
  },
  stale_leader: {
    status: 409,
    title: 'A newer leader has taken over',
    help:
      'A newer leader of this service has taken over; `detail` has both epochs. A leader that gets this stops. If ' +
      'etcd was rebuilt or a store restored, the epochs began anew: `lcm services reset-term SERVICE`.',
  },
  template_in_use: {
    status: 409,
    title: 'Workers still need the template',
    help: 'Workers that are not TERMINATED were made from it. Disable it instead, or terminate them first.',
  },
  term_not_registered: {
    status: 409,
    title: 'This term is not registered',
    help: 'A controller wrote before it registered its term.',
  },
  worker_has_sessions: {
    status: 409,
    title: 'Sessions live on the worker',
    help: 'Use `drain` to let them end first, or `force: true` to end them.',
  },
  worker_held: {
    status: 409,
    title: 'A person wants the worker stopped',
    help: 'Somebody stopped or drains the worker by hand, which no policy overrides. Start it by hand.',
  },
  worker_not_failed: {
    status: 409,
    title: 'Only a FAILED worker can be retried',
    help: 'The worker is not FAILED; `detail` has its status.',
  },
  worker_not_running: {
    status: 409,
    title: 'Only a RUNNING worker can be drained',
    help: 'The worker is not RUNNING; stop or terminate it directly.',
  },
  worker_not_terminated: {
    status: 409,
    title: 'Only the record of a TERMINATED worker can be removed',
    help: 'Only the record of a TERMINATED worker can be removed. Terminate it first.',
  },
  worker_not_trusted: {
    status: 409,
    title: 'LCM did not launch the machine of this worker',
    help:
      'LCM sends the default CML password and license tokens only to machines that it launched. Set credentials for this ' +
      'worker, or change its license in CML itself; `detail` says which.',
  },
  worker_protected: {
    status: 409,
    title: 'The worker is protected',
    help: 'The worker is protected against termination.',
  },
  worker_terminating: {
    status: 409,
    title: 'The worker is being terminated',
    help: 'Termination can not be withdrawn. Create a new worker.',
  },
  version_mismatch: {
    status: 412,
    title: 'Somebody changed it since you read it',
    help: 'It changed since you read it. Read it again and repeat with the new version.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    help: 'At most 1 MiB, or 5 MiB where a topology is sent.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Send application/json',
    help: 'Send `Content-Type: application/json`.',
  },
  wrong_host: {
    status: 421,
    title: 'This address is not served here',
    help: 'The `Host` header names another server. Use localhost or 127.0.0.1.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The key belongs to another request',
    help: 'This `Idempotency-Key` came with another body before. Use a new key for a new request.',
  },
  definition_not_active: {
    status: 422,
    title: 'The definition can not be booked',
    help: 'Only an ACTIVE definition can be booked: this one waits for its topology, or is DEPRECATED.',
  },
  definition_not_found: {
    status: 422,
    title: 'There is no such definition',
    help: 'There is no definition of that id or name; `lcm get definitions` lists them.',
  },
  region_not_configured: {
    status: 422,
    title: 'LCM is not set up for that region',
    help: 'LCM is not set up for that region; `detail` lists those it is.',
  },
  template_disabled: {
    status: 422,
    title: 'The template is disabled',
    help: 'The template is disabled. Enable it or use another.',
  },
  template_not_found: {
    status: 422,
    title: 'There is no such template',
    help: 'There is no template of that name; `lcm get templates` lists them.',
  },
  timeslot_invalid: {
    status: 422,
    title: 'The timeslot is not possible',
    help: 'It ends before it begins, lies in the past, or lasts longer than the definition allows; `detail` says which.',
  },
  precondition_required: {
    status: 428,
    title: 'Controllers must say what their write is based on',
    help: 'Controllers must say which version their write is based on (`If-Match`) and in which term they write (`lcm-epoch`).',
  },
  too_many_clients: {
    status: 429,
    title: 'Too many event streams are open',
    help: 'You have too many event streams open, or all callers together have. Close one.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    help: 'You ask faster than one caller may. Wait for `Retry-After` seconds, then go on more slowly.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many failed logins',
    help: 'Too many wrong tokens or login links came from your address. Wait for `Retry-After` seconds and use the right one.',
  },
  internal_error: {
    status: 500,
    title: 'A defect in LCM',
    help: 'A defect in LCM. Its log has the details.',
  },
  backup_unavailable: {
    status: 501,
    title: 'This store is backed up by its own tools',
    help: 'LCM packs backups of its own SQLite store only. Use the tools of the database server.',
  },
  deadline_exceeded: {
    status: 503,
    title: 'It took too long',
    help:
      'The request was not answered in time. Whether it had its effect is unknown: read before you repeat, or use an ' +
      '`Idempotency-Key`.',
  },
  identity_provider_unavailable: {
    status: 503,
    title: 'The identity provider does not answer',
    help: 'The provider behind `LCM_OIDC_ISSUER` does not answer, so nobody new can be recognised. Tokens of LCM itself work.',
  },
  store_unavailable: {
    status: 503,
    title: 'The store does not answer',
    help: 'The store does not answer or is too busy. Try again.',
  },
} as const satisfies Record<string, { status: number; title: string; help: string }>

export type ProblemCode = keyof typeof PROBLEMS

/** RFC 9457. `type` is stable and points at the documentation of the code. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  instance: z.string().optional(),
  errors: z.array(z.object({ path: z.string(), message: z.string(), line: z.int().positive().optional() })).optional(),
  sign_in: z
    .string()
    .optional()
    .describe('With `unauthenticated`: where a browser signs in by the identity provider, if there is one'),
})
export type Problem = z.infer<typeof Problem>

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

/** What a refusal says besides, in headers or members of its own. */
export interface Advice {
  readonly retryAfterSeconds?: number
  readonly allow?: readonly string[]
  readonly signIn?: string
}

/** Thrown by commands and queries; the edge turns it into an answer. `detail` is a sentence a person can act on. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  readonly errors: Problem['errors']
  /** When it is worth asking again. */
  readonly retryAfterSeconds: number | undefined
  /** The methods that the path does take. */
  readonly allow: readonly string[] | undefined
  /** Where a browser signs in by the identity provider. */
  readonly signIn: string | undefined

  constructor(code: ProblemCode, detail: string, errors?: Problem['errors'], advice: Advice = {}) {
    super(detail)
    this.code = code
    this.errors = errors
    this.retryAfterSeconds = advice.retryAfterSeconds
    this.allow = advice.allow
    this.signIn = advice.signIn
  }

  toProblem(instance: string): Problem {
    const { status, title } = PROBLEMS[this.code]
    const problem: Problem = {
      type: `/api/docs#${this.code}`,
      title,
      status,
      detail: this.message,
      code: this.code,
      instance,
    }
    return {
      ...problem,
      ...(this.errors && { errors: this.errors }),
      ...(this.signIn !== undefined && { sign_in: this.signIn }),
    }
  }
}
