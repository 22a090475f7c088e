import { z } from 'zod'

/** Every refusal that the API can give. A code is never reused for another meaning; docs/reference/errors.md explains each. */
export const PROBLEMS = {
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  validation_failed: { status: 400, title: 'The request does not match its schema' },
  unauthenticated: { status: 401, title: 'Who are you?' },
  login_code_invalid: { status: 401, title: 'The login link is used up, expired or wrong' },
  forbidden: { status: 403, title: 'Your role does not allow this' },
  foreign_origin: { status: 403, title: 'The request comes from another site' },
  not_found: { status: 404, title: 'There is no such thing' },
  method_not_allowed: { status: 405, title: 'This path does not take that method' },
  already_exists: { status: 409, title: 'That name is taken' },
  illegal_transition: { status: 409, title: 'A worker can not move between these statuses' },
  stale_leader: { status: 409, title: 'A newer leader has taken over' },
  term_not_registered: { status: 409, title: 'This term is not registered' },
  worker_not_terminated: { status: 409, title: 'Only the record of a TERMINATED worker can be removed' },
  worker_protected: { status: 409, title: 'The worker is protected' },
  worker_terminating: { status: 409, title: 'The worker is being terminated' },
  version_mismatch: { status: 412, title: 'Somebody changed it since you read it' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'Send application/json' },
  wrong_host: { status: 421, title: 'This address is not served here' },
  region_not_configured: { status: 422, title: 'LCM is not set up for that region' },
  template_disabled: { status: 422, title: 'The template is disabled' },
  template_not_found: { status: 422, title: 'There is no such template' },
  precondition_required: { status: 428, title: 'Controllers must say what their write is based on' },
  too_many_clients: { status: 429, title: 'Too many event streams are open' },
  internal_error: { status: 500, title: 'A defect in LCM' },
  store_unavailable: { status: 503, title: 'The store does not answer' },
} as const satisfies Record<string, { status: number; title: string }>

export type ProblemCode = keyof typeof PROBLEMS

/** RFC 9457. `type` is stable and points at the documentation of the code. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  instance: z.string().optional(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})
export type Problem = z.infer<typeof Problem>

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

/** Thrown by commands and queries; the edge turns it into an answer. `detail` is a sentence a person can act on. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  readonly errors: Problem['errors']

  constructor(code: ProblemCode, detail: string, errors?: Problem['errors']) {
    super(detail)
    this.code = code
    this.errors = errors
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
    return this.errors ? { ...problem, errors: this.errors } : problem
  }
}
