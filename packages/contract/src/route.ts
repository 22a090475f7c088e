import type { z } from 'zod'
import type { Access } from './access.ts'
import type { ProblemCode } from './problems.ts'

export const API_PREFIX = '/api/v1'

export interface RouteSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below API_PREFIX, with `{name}` for parameters. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly access: Access
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** Where a body may be larger than usual. */
  readonly bodyBytesMax?: number
  readonly status: number
  /** What the answer holds; null when it has no body. For a stream: what each event holds. */
  readonly answer: z.ZodType | null
  /** Another good status, and what it means. */
  readonly alsoStatus?: { readonly status: number; readonly meaning: string }
  /** Where a created thing lives, filled in from the answer. */
  readonly location?: string
  readonly stream?: true
  /** The answer is a file of this media type. */
  readonly file?: string
  /** `required` refuses a write that does not say which version it is based on. */
  readonly ifMatch?: 'optional' | 'required'
  /** Takes an Idempotency-Key: the same request is carried out once, however often it is sent. */
  readonly idempotent?: true
  /** Refuses a write that does not come from the registered term of the caller's service. */
  readonly fenced?: true
  /** Beyond those that every route shares (see openapi.ts). */
  readonly problems: readonly ProblemCode[]
}
