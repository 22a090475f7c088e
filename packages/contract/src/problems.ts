import { Instant } from '@lcm/domain/instant'
import { Reason } from '@lcm/domain/reason'
import { z } from 'zod'
import { PROBLEMS, type ProblemCode } from './problem-codes.ts'

/** RFC 9457. `type` is stable and links to the documentation of the code. */
export const Problem = z
  .object({
    type: z.string().meta({ description: 'The documentation of the code.', example: '/api/docs#validation_failed' }),
    title: z.string().meta({ description: 'The meaning of the code, always the same text.' }),
    status: z.int().meta({ description: 'The HTTP status.', example: 409 }),
    detail: z.string().meta({ description: 'What failed this time, for people.' }),
    code: z.string().meta({ description: 'The code, for programs. Never reused for another meaning.' }),
    instance: z.string().optional().meta({ description: 'The path of the request.' }),
    errors: z
      .array(
        z.object({
          path: z.string().meta({ description: 'The wrong field.', example: 'body.template_name' }),
          message: z.string().meta({ description: 'The error in this field.' }),
          line: z.int().positive().optional().meta({ description: 'The line of a topology.', example: 12 }),
        }),
      )
      .optional()
      .meta({ description: 'The wrong fields.' }),
    reason: Reason.optional().meta({ description: 'Why a decision refused it, as data.' }),
    free_seats: z.int().nonnegative().optional().meta({
      description: 'With `no_capacity_at_that_time`: how many of the seats would fit.',
    }),
    alternatives: z.array(Instant).optional().meta({
      description: 'With `no_capacity_at_that_time`: the nearest starts that would be admitted now.',
    }),
    sign_in: z.string().optional().meta({
      description:
        'With `unauthenticated`: the path where a browser signs in with the identity provider, if there is one.',
    }),
  })
  .meta({ id: 'Problem', description: 'A refusal (RFC 9457).' })
export type Problem = z.infer<typeof Problem>

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

/** Extra headers and members of a problem. */
export interface Advice {
  readonly retryAfterSeconds?: number
  readonly allow?: readonly string[]
  readonly signIn?: string
  readonly reason?: Reason
  /** How many seats would fit, and when all of them would. */
  readonly shortage?: Shortage
}

export interface Shortage {
  readonly free_seats: number
  readonly alternatives: Instant[]
}

/** Thrown by commands and queries; the HTTP layer makes a response of it. `detail` is a sentence that a person can act on. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  readonly errors: Problem['errors']
  /** Seconds to wait before the next try. */
  readonly retryAfterSeconds: number | undefined
  /** The methods that the path supports. */
  readonly allow: readonly string[] | undefined
  /** The path where a browser signs in with the identity provider. */
  readonly signIn: string | undefined
  readonly reason: Reason | undefined
  readonly shortage: Shortage | undefined

  constructor(code: ProblemCode, detail: string, errors?: Problem['errors'], advice: Advice = {}) {
    super(detail)
    this.code = code
    this.errors = errors
    this.retryAfterSeconds = advice.retryAfterSeconds
    this.allow = advice.allow
    this.signIn = advice.signIn
    this.reason = advice.reason
    this.shortage = advice.shortage
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
      ...(this.reason && { reason: this.reason }),
      ...this.shortage,
      ...(this.signIn !== undefined && { sign_in: this.signIn }),
    }
  }
}

/** A problem whose detail is the message of a reason, which it carries as data. */
export const refusedBy = (code: ProblemCode, reason: Reason): ProblemError =>
  new ProblemError(code, reason.message, undefined, { reason })
