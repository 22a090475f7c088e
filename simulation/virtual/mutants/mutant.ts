import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import type { Election, Leadership } from '@lcm/runtime'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import type { Act, ActName } from '../acts/act.ts'
import type { Defects } from '../world/world.ts'

/** A deliberate defect, injected by wrapping the ports of the product. */
export interface Mutant {
  readonly name: string
  /** The behavior that the defect causes. */
  readonly breaks: string
  /** The violation that must find it. */
  readonly caughtBy: RegExp
  /** Called for every run, because a defect may have state. */
  defects(): Defects
  /** Acts that expose the defect; without them random plans are tried. */
  readonly acts?: readonly Act[]
  /** Days of classes on a cloud without faults expose the defect, instead of acts. */
  readonly calmDays?: number
}

const MINUTE_MS = 60_000

/** An act at a minute. */
export const at = (
  minute: number,
  act: ActName,
  { target = 0, amount = 0, forMinutes = 1 }: { target?: number; amount?: number; forMinutes?: number } = {},
): Act => ({ atMs: Math.round(minute * MINUTE_MS), act, target, amount, forMs: forMinutes * MINUTE_MS })

/** Changes the bodies of matching requests. */
export const changeRequests =
  (pattern: RegExp, change: (body: Record<string, unknown>, request: ApiRequest) => unknown) =>
  (dispatch: Dispatch): Dispatch =>
  request => {
    if (!pattern.test(`${request.method} ${request.url}`)) return dispatch(request)
    return dispatch({ ...request, body: JSON.stringify(change(JSON.parse(request.body ?? '{}'), request)) })
  }

/** Changes the bodies of matching responses. */
export const changeResponses =
  (pattern: RegExp, change: (body: Record<string, unknown>) => unknown) =>
  (dispatch: Dispatch): Dispatch =>
  async request => {
    const response = await dispatch(request)
    if (!pattern.test(`${request.method} ${request.url}`) || response.status >= 300) return response
    return withBody(response, JSON.stringify(change(JSON.parse(String(response.body)))))
  }

export const withBody = ({ status, headers }: ApiResponse, body: string): ApiResponse => ({ status, headers, body })

/** Changes the leadership that a process receives. */
export const changeLeadership =
  (change: (leadership: Leadership) => Leadership) =>
  (election: Election): Election => ({
    ...election,
    async campaign(signal) {
      const leadership = await election.campaign(signal)
      return leadership && change(leadership)
    },
  })

/** Changes documents of one kind before they are inserted. */
export const changeInserts =
  <T extends Document>(kind: Kind<T>, change: (document: T) => T) =>
  (store: Store): Store => ({
    ...store,
    collection<D extends Document>(of: Kind<D>): Collection<D> {
      const documents = store.collection(of)
      if (of.name !== kind.name) return documents
      return {
        ...documents,
        insert: (document, entries) => documents.insert(of.parse(change(kind.parse(document))), entries),
      }
    },
  })

/** Changes documents of one kind before they are replaced. */
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
