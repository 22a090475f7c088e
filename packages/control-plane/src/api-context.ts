import type { ApiResponse } from '@lcm/contract/route-spec'
import type { AnswerOf, ROUTES, RouteName } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import type { RequestOrigin } from './access/request-origin.ts'
import type { ApiParts } from './api-dependencies.ts'
import { type CapacityCalendar, newCalendar } from './resources/calendar/capacity-calendar.ts'
import { type Collections, openCollections } from './resources.ts'

/** Context of every command and query: the dependencies of the API and one collection per kind of resource. */
export interface Api extends ApiParts, Collections {
  readonly calendar: CapacityCalendar
}

export const openApi = (parts: ApiParts): Api => ({
  ...parts,
  ...openCollections(parts.store),
  calendar: newCalendar(),
})

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
  /** Client address and browser, for the audit log. */
  readonly origin: RequestOrigin
  readonly signal: AbortSignal
}

export type Json<T> = { readonly kind: 'json'; readonly body: T }
/** The request created the resource; a repeated one answers `json` with the resource that was there. */
export type Created<T> = { readonly kind: 'created'; readonly body: T }
/** JSON that is encoded already. `of` is only a type. */
export type Encoded<T> = {
  readonly kind: 'encoded'
  readonly bytes: NonNullable<ApiResponse['bytes']>
  readonly of?: T
}
export type Empty = { readonly kind: 'empty' }
export type Stream = { readonly kind: 'stream'; readonly events: AsyncIterable<string> }
export type File = { readonly kind: 'file'; readonly chunks: AsyncIterable<Uint8Array> }

/** Result of a handler. The tag decides how it is sent; status and media type come from the route. */
export type Reply<T = unknown> = Json<T> | Created<T> | Encoded<T> | Empty | Stream | File

type Route<N extends RouteName> = (typeof ROUTES)[N]
/** Replies that the contract of a route allows. */
export type ReplyOf<N extends RouteName> =
  Route<N> extends { stream: true }
    ? Stream
    : Route<N> extends { file: string }
      ? File
      : Route<N>['answer'] extends null
        ? Empty
        : Route<N>['status'] extends 201
          ? Created<AnswerOf<N>> | (Route<N> extends { alsoStatus: object } ? Json<AnswerOf<N>> : never)
          : Json<AnswerOf<N>> | Encoded<AnswerOf<N>>
