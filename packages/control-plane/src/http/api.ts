import type { Actor } from '@lcm/domain/actor'
import { type Collections, openCollections } from '../resources.ts'
import type { ApiParts } from './api-parts.ts'

/** Context of every command and query: the dependencies of the API and one collection per kind of resource. */
export interface Api extends ApiParts, Collections {}

export const openApi = (parts: ApiParts): Api => ({ ...parts, ...openCollections(parts.store) })

/** A request after routing, authentication and validation. */
export interface Request<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly actor: Actor
  /** Version in If-Match; null when the caller sent none. */
  readonly ifMatch: number | null
  readonly lastEventId: string | null
  /** For fenced routes: the fence that guards the write. */
  readonly fence: number | null
  /** Term in the epoch header; 0 without one. */
  readonly epoch: number
  /** For a request with an Idempotency-Key: the id of the resource that it creates, and the hash of its key. */
  readonly once: { readonly resourceId: string; readonly key: string } | null
  readonly signal: AbortSignal
}
