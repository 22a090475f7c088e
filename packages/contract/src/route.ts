import type { z } from 'zod'
import type { Access } from './access.ts'
import type { ProblemCode } from './problems.ts'

export const API_PREFIX = '/api/v1'

export interface PathParameter {
  readonly description: string
  readonly example: string
}
/** Descriptions of path parameters by name. */
export type PathParameters = Readonly<Record<string, PathParameter>>

export interface RouteSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below API_PREFIX, with `{name}` for parameters. */
  readonly path: string
  /** Describes every `{name}` in the path. */
  readonly params?: PathParameters
  readonly summary: string
  readonly description: string
  readonly access: Access
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** Overrides the default limit of a body. */
  readonly bodyBytesMax?: number
  readonly status: number
  /** The response body; null if there is none. For a stream: one event. */
  readonly answer: z.ZodType | null
  /** A second success status and its meaning. */
  readonly alsoStatus?: { readonly status: number; readonly meaning: string }
  /** The path of a created resource, filled in from the response. */
  readonly location?: string
  readonly stream?: true
  /** The response is a file of this media type. */
  readonly file?: string
  /** `required` refuses a write without the version that it is based on. */
  readonly ifMatch?: 'optional' | 'required'
  /** Accepts an Idempotency-Key: a repeated request is performed once. */
  readonly idempotent?: true
  /** Refuses a write that is not from the registered term of the caller's service. */
  readonly fenced?: true
  /** Problems beyond the ones that every route shares (see openapi/problem-responses.ts). */
  readonly problems: readonly ProblemCode[]
}
