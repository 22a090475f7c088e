import type { ApiRequest, Dispatch } from '@lcm/contract/route-spec'
import type { DesiredStatus, Worker } from '@lcm/domain/worker/worker'
import { type SettingsHistory, settingsHistory } from './settings-history.ts'

/** Requests of users for each worker: the last desired states, and the time of the last request. */
export interface RequestedState {
  /** Records requests on their way to the API. */
  record(dispatch: Dispatch): Dispatch
  /** Desired states recorded for users that no user requested. */
  neverRequested(worker: Worker): readonly string[]
  /** Accepted requests without effect; for a settled system. */
  lost(worker: Worker): readonly string[]
  lastTouchedMs(workerId: string): number
  readonly settings: Omit<SettingsHistory, 'record'>
}

const DESIRED_BY_VERB: Readonly<Record<string, DesiredStatus>> = {
  start: 'RUNNING',
  stop: 'STOPPED',
  terminate: 'TERMINATED',
}
const TOUCH = /\/workers\/(w-[^/?]+)(?:\/([a-z-]+))?/
/** The last request and those that may have been pending with it. */
const REQUESTS_KEPT = 4

type Outcome = 'accepted' | 'refused' | 'unknown'
/** A refused request has no effect; after a server error the effect is unknown. */
const outcomeOf = (status: number): Outcome => (status < 300 ? 'accepted' : status < 500 ? 'refused' : 'unknown')

export function requestedState(users: readonly string[], now: () => number): RequestedState {
  const recent = recentRequests()
  const last = lastRequests()
  const touchedMs = new Map<string, number>()
  const settings = settingsHistory(now)

  /** Callbacks that receive the outcome of the request. */
  function noted(request: ApiRequest, id: string, verb: string): ((outcome: Outcome) => void)[] {
    const body = () => JSON.parse(request.body ?? '{}')
    const isDrain = verb === 'drain'
    const status: DesiredStatus | undefined = isDrain ? (body().then ?? 'STOPPED') : DESIRED_BY_VERB[verb]
    if (id !== '' && status !== undefined) return [recent.note(request, id, status), last.note(id, status, isDrain)]
    const isSetting = request.method === 'PATCH' && request.url.endsWith('/settings')
    return isSetting ? [settings.record(body())] : []
  }

  return {
    settings,
    lastTouchedMs: id => touchedMs.get(id) ?? Number.NEGATIVE_INFINITY,
    record: dispatch => async request => {
      if (request.method === 'GET') return dispatch(request)
      const [, id = '', verb = ''] = TOUCH.exec(request.url) ?? []
      const touch = () => void (id !== '' && touchedMs.set(id, now()))
      const callbacks = noted(request, id, verb)
      touch()
      let outcome: Outcome = 'unknown'
      try {
        const response = await dispatch(request)
        outcome = outcomeOf(response.status)
        return response
      } finally {
        touch()
        for (const callback of callbacks) callback(outcome)
      }
    },
    neverRequested({ id, name, desired_by, desired_status }) {
      if (!users.includes(desired_by)) return []
      return recent.of(id).includes(desired_status)
        ? []
        : [`${name} has the desired status ${desired_status} by ${desired_by}, who never requested it`]
    },
    lost({ id, name, desired_by, desired_status }) {
      if (!users.includes(desired_by)) return []
      const possible = last.of(id)
      return possible.includes(desired_status)
        ? []
        : [`${name} has the desired status ${desired_status}; ${desired_by} requested ${possible.join(' or ')}`]
    },
  }
}

/** The last desired states requested for each worker, the newest last. */
function recentRequests() {
  const desired = new Map<string, readonly DesiredStatus[]>()
  const repeated = new Map<string, { readonly callback: (outcome: Outcome) => void; isUnknown: boolean }>()

  /** Recorded before the response, because the event may arrive first. */
  function noted(id: string, status: DesiredStatus): (outcome: Outcome) => void {
    const before = desired.get(id)
    const after =
      before?.at(-1) === status ? before : [...(before ?? ['RUNNING' as const]), status].slice(-REQUESTS_KEPT)
    desired.set(id, after)
    return outcome => {
      // A later request may have been recorded since.
      if (outcome !== 'refused' || desired.get(id) !== after) return
      if (before === undefined) desired.delete(id)
      else desired.set(id, before)
    }
  }

  return {
    of: (id: string) => desired.get(id) ?? ['RUNNING' as const],
    /**
     * Retries with the same idempotency key count as one request. After an attempt with an unknown outcome, a refused retry proves
     * nothing.
     */
    note({ headers }: ApiRequest, id: string, status: DesiredStatus): (outcome: Outcome) => void {
      const key = headers['idempotency-key'] ?? ''
      const known = repeated.get(key) ?? { callback: noted(id, status), isUnknown: false }
      if (key !== '') repeated.set(key, known)
      return outcome => {
        known.isUnknown ||= outcome === 'unknown'
        if (!known.isUnknown) known.callback(outcome)
      }
    },
  }
}

/** The last accepted desired state of each worker; of several concurrent requests, any may be the last. */
function lastRequests() {
  const accepted = new Map<string, readonly DesiredStatus[]>()
  const pending = new Map<string, number>()
  const of = (id: string) => accepted.get(id) ?? ['RUNNING' as const]
  return {
    of,
    /** A drain may be canceled; then the desired state before it holds. */
    note(id: string, status: DesiredStatus, isCancelable: boolean): (outcome: Outcome) => void {
      const isAlone = () => (pending.get(id) ?? 0) === 0
      const wasAlone = isAlone()
      pending.set(id, (pending.get(id) ?? 0) + 1)
      return outcome => {
        pending.set(id, (pending.get(id) ?? 0) - 1)
        if (outcome === 'refused') return
        const isLast = outcome === 'accepted' && wasAlone && isAlone() && !isCancelable
        accepted.set(id, isLast ? [status] : [...new Set([...of(id), status])])
      }
    },
  }
}
