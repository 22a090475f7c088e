import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/wire'
import type { Election, Leadership } from '@lcm/runtime'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import type { Act, ActName } from '../acts/act.ts'
import type { Defects } from '../world/world.ts'

/** A defect on purpose, switched on by wrapping what the product is given. */
export interface Mutant {
  readonly name: string
  /** What it takes away. */
  readonly breaks: string
  /** The rule that must find it. */
  readonly caughtBy: RegExp
  /** Anew for every run: it may remember. */
  defects(): Defects
  /** A short story that leads there; without one it is looked for at random. */
  readonly acts?: readonly Act[]
}

const MINUTE_MS = 60_000

/** An act at a minute. */
export const at = (
  minute: number,
  act: ActName,
  { target = 0, amount = 0, forMinutes = 1 }: { target?: number; amount?: number; forMinutes?: number } = {},
): Act => ({ atMs: Math.round(minute * MINUTE_MS), act, target, amount, forMs: forMinutes * MINUTE_MS })

/** Requests to the API, changed on the way. */
export const changeRequests =
  (pattern: RegExp, change: (body: Record<string, unknown>, request: ApiRequest) => unknown) =>
  (dispatch: Dispatch): Dispatch =>
  request => {
    if (!pattern.test(`${request.method} ${request.url}`)) return dispatch(request)
    return dispatch({ ...request, body: JSON.stringify(change(JSON.parse(request.body ?? '{}'), request)) })
  }

/** What the API answers, changed on its way back. */
export const changeResponses =
  (pattern: RegExp, change: (body: Record<string, unknown>) => unknown) =>
  (dispatch: Dispatch): Dispatch =>
  async request => {
    const response = await dispatch(request)
    if (!pattern.test(`${request.method} ${request.url}`) || response.status >= 300) return response
    return withBody(response, JSON.stringify(change(JSON.parse(String(response.body)))))
  }

export const withBody = ({ status, headers }: ApiResponse, body: string): ApiResponse => ({ status, headers, body })

/** Leaders with beliefs of their own about their lease. */
export const changeLeadership =
  (change: (leadership: Leadership) => Leadership) =>
  (election: Election): Election => ({
    ...election,
    async campaign(signal) {
      const leadership = await election.campaign(signal)
      return leadership && change(leadership)
    },
  })

/** Documents of one kind, changed on their way into the store. */
export const changeDocuments =
  <T extends Document>(kind: Kind<T>, change: (document: T, before: T | null) => T) =>
  (store: Store): Store => ({
    ...store,
    collection<D extends Document>(of: Kind<D>): Collection<D> {
      const documents = store.collection(of)
      if (of.name !== kind.name) return documents
      const changed = (document: D, before: D | null): D =>
        of.parse(change(kind.parse(document), before && kind.parse(before)))
      return {
        ...documents,
        async replace(document, entries) {
          return documents.replace(changed(document, await documents.get(document.id)), entries)
        },
      }
    },
  })
