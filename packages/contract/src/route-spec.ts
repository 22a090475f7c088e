import { type Actor, ROLES, type Role, type ServiceName } from '@lcm/domain/actor'
import type { z } from 'zod'
import type { ProblemCode } from './problem-codes.ts'

export const API_PREFIX = '/api/v1'

interface PathParameter {
  readonly description: string
  readonly example: string
}
/** Descriptions of path parameters by name. */
type PathParameters = Readonly<Record<string, PathParameter>>

export interface RouteSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below API_PREFIX, with `{name}` for parameters. */
  readonly path: string
  /** Describes every `{name}` in the path. */
  readonly params?: PathParameters
  readonly summary: string
  readonly description: string
  readonly access: Access
  /** Refuses browser sessions, so that a stolen one can't outlive its own end. */
  readonly bearerOnly?: true
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** Overrides the largest size of a body; see bodyLimitsOf. */
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

/**
 * The callers that a route accepts: everyone, some roles and perhaps one controller, the controllers of some services, or any
 * controller.
 */
export type Access =
  | 'open'
  | { readonly roles: readonly Role[]; readonly controller?: ServiceName }
  | { readonly controllersOf: ServiceName | readonly ServiceName[] | 'any' }

export const EVERYONE: Access = { roles: ROLES }
/** Every role but `controller`: controllers neither book nor cancel sessions. */
export const PEOPLE = { roles: ['admin', 'operator', 'author', 'user'] } as const satisfies Access
export const PEOPLE_AND_LABLET_CONTROLLER: Access = { ...PEOPLE, controller: 'lablet-controller' }
export const OPERATORS: Access = { roles: ['admin', 'operator'] }
export const AUTHORS: Access = { roles: ['admin', 'author'] }
export const ADMINS: Access = { roles: ['admin'] }
export const ANY_CONTROLLER: Access = { controllersOf: 'any' }
export const WORKER_CONTROLLER: Access = { controllersOf: 'worker-controller' }
export const SCHEDULER: Access = { controllersOf: 'resource-scheduler' }
export const LABLET_CONTROLLER: Access = { controllersOf: 'lablet-controller' }
/** The controllers that talk to CML. */
export const CML_CONTROLLERS: Access = { controllersOf: ['worker-controller', 'lablet-controller'] }

const KIB = 1024
const MIB = 1024 * KIB

export interface BodyLimits {
  readonly bytesMax: number
  /** Fields and entries at all levels. */
  readonly valuesMax: number
}
/** More than people need and too little to stall the API. Controllers also send lists of labs, decisions and plans. */
const BODY_LIMITS = {
  people: { bytesMax: 64 * KIB, valuesMax: 8_192 },
  controllers: { bytesMax: MIB, valuesMax: 500_000 },
} as const satisfies Record<string, BodyLimits>

/** The limits of every path that has no route in the contract. */
export const DEFAULT_BODY_LIMITS: BodyLimits = BODY_LIMITS.people

export function bodyLimitsOf({ access, bodyBytesMax }: RouteSpec): BodyLimits {
  const limits = access !== 'open' && 'controllersOf' in access ? BODY_LIMITS.controllers : BODY_LIMITS.people
  return bodyBytesMax === undefined ? limits : { ...limits, bytesMax: bodyBytesMax }
}

/** A size such as `64 KiB`. */
export const bodySizeText = (bytes: number): string => (bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`)

export function mayCall(actor: Actor, access: Access): boolean {
  if (access === 'open') return true
  if ('roles' in access && access.roles.includes(actor.role)) return true
  if (actor.role !== 'controller') return false
  const controllersOf = 'roles' in access ? (access.controller ?? []) : access.controllersOf
  return controllersOf === 'any' || (actor.service !== null && [controllersOf].flat().includes(actor.service))
}

/** Admins and operators may modify every resource, all others only their own. */
export const mayModify = (actor: Actor, ownerId: string): boolean =>
  actor.role === 'admin' || actor.role === 'operator' || actor.id === ownerId

/** Controllers also see the resources of all owners. */
export const mayView = (actor: Actor, ownerId: string): boolean =>
  actor.role === 'controller' || mayModify(actor, ownerId)

/** Users book and use labs, and don't read how LCM places and runs them. */
export const isLearner = ({ role }: Pick<Actor, 'role'>): boolean => role === 'user'

/** The API responds within this time, with `deadline_exceeded` at worst. Clients wait longer, so that they receive it. */
export const ANSWER_MS_MAX = 25_000

/** A request as `dispatch` and every transport see it. HTTP servers and clients only translate it. */
export interface ApiRequest {
  readonly method: string
  /** Path and query string, such as `/api/v1/workers?limit=10`. */
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The address of the caller; absent within a process. */
  readonly remote?: string
  /** Overrides the timeout for the head of the response. */
  readonly timeoutMs?: number
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal
}

export interface ApiResponse {
  readonly status: number
  /** Names in lower case. Several cookies in `set-cookie` are separated by line breaks. */
  readonly headers: Readonly<Record<string, string>>
  /** A stream ends when the signal of the request aborts or the server closes it. */
  readonly body: string | AsyncIterable<string> | null
  /** The body in UTF-8, if it is encoded already. The sender calls `done` so that the memory can be reused. */
  readonly bytes?: { readonly data: Uint8Array; done(): void }
  /** A file instead of a body. */
  readonly file?: AsyncIterable<Uint8Array>
}

export type Dispatch = (request: ApiRequest) => Promise<ApiResponse>

/** The term that a controller's write belongs to. */
export const EPOCH_HEADER = 'lcm-epoch'

/** Versions are sent as entity tags. */
export const toEtag = (version: number): string => `"${version}"`
export function fromEtag(etag: string): number | null {
  const match = /^(?:W\/)?"?(\d{1,15})"?$/.exec(etag.trim())
  return match ? Number(match[1]) : null
}
