import type { BodyOf, ParamsOf, QueryOf, RouteName } from '@lcm/contract/routes'
import type { Created, Empty, Encoded, File, Json, ReplyOf, Request, Stream } from '../api-context.ts'

type RequestOf<N extends RouteName> = Request<ParamsOf<N>, QueryOf<N>, BodyOf<N>>
/** A handler for every route. */
export type HandlerMap = { [N in RouteName]: (request: RequestOf<N>) => Promise<ReplyOf<N>> }

export type Handle<R, T> = (request: R) => Promise<T>

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
