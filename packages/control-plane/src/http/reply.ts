import { ProblemError } from '@lcm/contract/problems'
import type { ApiResponse } from '@lcm/contract/route'
import type { AnswerOf, ROUTES, RouteName, RouteSpec } from '@lcm/contract/routes'
import type { Clock } from '@lcm/runtime/clock'

type Json<T> = { readonly kind: 'json'; readonly body: T }
/** The request created the resource; a repeated one answers `json` with the resource that was there. */
type Created<T> = { readonly kind: 'created'; readonly body: T }
/** JSON that is encoded already. `of` is only a type. */
export type Encoded<T> = {
  readonly kind: 'encoded'
  readonly bytes: NonNullable<ApiResponse['bytes']>
  readonly of?: T
}
type Empty = { readonly kind: 'empty' }
type Stream = { readonly kind: 'stream'; readonly events: AsyncIterable<string> }
type File = { readonly kind: 'file'; readonly chunks: AsyncIterable<Uint8Array> }

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

type Handle<R, T> = (request: R) => Promise<T>

/** Wrappers that tag the result of a command or query. */
export const json =
  <R, T>(handle: Handle<R, T>): Handle<R, Json<T>> =>
  async request => ({ kind: 'json', body: await handle(request) })

export const created =
  <R, T>(handle: Handle<R, T>): Handle<R, Created<T>> =>
  async request => ({ kind: 'created', body: await handle(request) })

/** For a request that finds its resource when it is repeated. */
export const createdOnce =
  <R, T>(handle: Handle<R, { readonly body: T; readonly isNew: boolean }>): Handle<R, Created<T> | Json<T>> =>
  async request => {
    const { body, isNew } = await handle(request)
    return { kind: isNew ? 'created' : 'json', body }
  }

export const encoded =
  <R, T>(handle: Handle<R, Encoded<T>>): Handle<R, Encoded<T>> =>
  request =>
    handle(request)

export const empty =
  <R>(handle: Handle<R, unknown>): Handle<R, Empty> =>
  async request => {
    await handle(request)
    return { kind: 'empty' }
  }

export const stream =
  <R>(open: (request: R) => AsyncIterable<string>): Handle<R, Stream> =>
  async request => ({ kind: 'stream', events: open(request) })

export const file =
  <R>(make: Handle<R, AsyncIterable<Uint8Array>>): Handle<R, File> =>
  async request => ({ kind: 'file', chunks: await make(request) })

/** 201 for a resource that was created, the second status of the route for one that was there. */
export const statusOf = (spec: RouteSpec, { kind }: Reply): number =>
  kind === 'json' ? (spec.alsoStatus?.status ?? spec.status) : spec.status

/** Rejects after `ms`. The work itself continues. */
export async function withDeadline<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  let cancel = (): void => undefined
  const late = new Promise<never>((_, reject) => {
    const refuse = () => reject(new ProblemError('deadline_exceeded', `no answer within ${ms / 1000} s`))
    cancel = clock.after(ms, refuse)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
  }
}
