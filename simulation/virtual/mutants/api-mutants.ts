import type { ApiRequest } from '@lcm/contract/route-spec'
import { RESOURCES } from '@lcm/control-plane/resources'
import type { Settings } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'
import { NO_ACTIVITY, NOTHING_RESERVED } from '@lcm/domain/worker/worker-field-schemas'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { at, changeDocuments, changeRequests, changeResponses, type Mutant } from './mutant.ts'

const ONE = [at(0, 'create')]
/** Idle after 15 minutes, and no minimum number of workers. */
const SOON_IDLE = at(1, 'change settings')
/** A user works on the server all day. */
const USED = [...ONE, SOON_IDLE, ...Array.from({ length: 30 }, (_, n) => at(15 + 5 * n, 'use a server'))]
const BUSY_API = [
  ...Array.from({ length: 3 }, (_, n) => at(n / 10, 'create')),
  ...Array.from({ length: 40 }, (_, n) => at(8 + n, n % 2 === 0 ? 'stop' : 'start', { target: 0.4 })),
  ...Array.from({ length: 20 }, (_, n) => at(8 + 2 * n, 'lead as a zombie', { amount: 0.99 })),
]
/** Two API processes, one of which loses many races. */
const RIVALS = [
  at(0, 'write concurrently', { amount: 1, forMinutes: 60 }),
  ...ONE,
  ...Array.from({ length: 6 }, (_, n) => at(10 + 5 * n, n % 2 === 0 ? 'stop' : 'start')),
]
const IDLE_CHECK = /POST .*\/idle-checks$/

const withoutBlockage = changeRequests(/PATCH .*\/workers\/[^/]+\/status$/, body => {
  const { changes } = body as { changes: { conditions?: { type: string }[] } }
  const conditions = changes.conditions?.filter(({ type }) => type !== CONDITION.terminateBlocked)
  return { ...body, changes: { ...changes, ...(conditions === undefined ? {} : { conditions }) } }
})

type Reservation = Worker['reservations'][string]

const changeReservations = (change: (reservation: Reservation) => Partial<Reservation>) =>
  changeDocuments(RESOURCES.workers, worker => ({
    ...worker,
    reservations: Object.fromEntries(
      Object.entries(worker.reservations).map(([id, each]) => [id, { ...each, ...change(each) }]),
    ),
  }))

/** Defects in the API, in its store and in requests of controllers. */
export const apiMutants: readonly Mutant[] = [
  {
    name: 'stale epoch accepted',
    breaks: 'the API accepts writes of a superseded leader',
    caughtBy: /of epoch \d+ after/,
    acts: BUSY_API,
    defects() {
      const newest = new Map<string, number>()
      return {
        requests: (dispatch, service) => request => {
          const epoch = Number(request.headers['lcm-epoch'] ?? 0)
          if (epoch === 0) return dispatch(request)
          newest.set(service, Math.max(epoch, newest.get(service) ?? 0))
          const headers = { ...request.headers, 'lcm-epoch': String(newest.get(service)) }
          return dispatch({ ...request, headers })
        },
      }
    },
  },
  {
    name: 'compare-and-set ignored',
    breaks: 'the last write wins, whatever version was read',
    caughtBy: /was written over/,
    acts: RIVALS,
    defects: () => ({ store: withReplace(lastWriteWins) }),
  },
  {
    name: 'refused termination not reported',
    breaks: 'EC2 refuses to terminate a protected machine, and the worker only shows TERMINATING',
    caughtBy: /EC2 refuses to stop or terminate \S+ \(TERMINATING\), and no condition reports it/,
    acts: [...ONE, at(20, 'protect a machine'), at(22, 'terminate')],
    defects: () => ({ requests: dispatch => withoutBlockage(dispatch) }),
  },
  {
    name: 'license leak not stored',
    breaks: 'the report of a license that was lost with its machine is not stored',
    caughtBy: /is lost without a record/,
    acts: [at(0, 'create with a license'), at(20, 'terminate a machine')],
    defects: () => ({ store: withoutLeaks }),
  },
  {
    name: 'acknowledged write lost',
    breaks: 'every fiftieth write is acknowledged and not stored',
    caughtBy: /was written over/,
    defects() {
      let writes = 0
      return {
        store: withReplace((documents, document, entries) => {
          writes += 1
          return writes % 50 === 0 ? Promise.resolve({ ok: true }) : documents.replace(document, entries)
        }),
      }
    },
  },
  {
    name: 'desired state overwritten by a report',
    breaks: 'the reported status becomes the desired status',
    caughtBy: /who never requested it/,
    acts: [...ONE, at(15, 'stop a machine')],
    defects: () => ({
      store: changeDocuments(RESOURCES.workers, (worker, before) =>
        before?.status !== worker.status && worker.status === 'STOPPED'
          ? { ...worker, desired_status: 'STOPPED' as const }
          : worker,
      ),
    }),
  },
  {
    name: 'retry counter reset',
    breaks: 'every failure counts as the first, so retries never end',
    caughtBy: /retried endlessly/,
    acts: [
      ...ONE,
      at(0.5, 'break a server', { forMinutes: 600 }),
      // Each failure takes half an hour.
      at(60, 'break a server', { forMinutes: 600 }),
    ],
    defects: () => ({
      store: changeDocuments(RESOURCES.workers, worker => ({ ...worker, failures: Math.min(1, worker.failures) })),
    }),
  },
  {
    name: 'illegal transition accepted',
    breaks: 'the API accepts a report that a stopped worker is PENDING',
    caughtBy: /moved from/,
    acts: [...ONE, at(15, 'stop')],
    defects: () => ({ store: withReplace(acceptAnyTransition) }),
  },
  {
    name: 'secrets in decisions',
    breaks: 'the reason of a decision contains a license token',
    caughtBy: /a secret was/,
    acts: [at(0, 'create with a license'), at(30, 'stop')],
    defects() {
      let token = ''
      return {
        requests: dispatch => async request => {
          const response = await dispatch(withTokenInReason(request, token))
          if (request.url.endsWith('/secrets')) token = JSON.parse(String(response.body)).license_token ?? token
          return response
        },
      }
    },
  },
  {
    name: 'secrets in events',
    breaks: 'the API shows a license token with the worker',
    caughtBy: /a secret was sent/,
    acts: [at(0, 'create with a license')],
    defects: () => ({
      store: changeDocuments(RESOURCES.workers, worker =>
        worker.license.product === null ? worker : { ...worker, desired_reason: 'token-of-the-account' },
      ),
    }),
  },
  {
    name: 'ownership not checked',
    breaks: 'every user can read every session',
    caughtBy: /may see/,
    acts: [
      ...ONE,
      at(15, 'book', { amount: 0.45 }),
      ...Array.from({ length: 9 }, (_, n) => at(18 + n, 'act on a foreign session', { amount: n / 9 })),
    ],
    defects: () => ({
      api: dispatch => request =>
        request.method === 'GET' && /lablet-sessions\/ls-/.test(request.url)
          ? dispatch({ ...request, headers: { ...request.headers, authorization: 'Bearer admin' } })
          : dispatch(request),
    }),
  },
  {
    name: 'activity ignored',
    breaks: 'user activity on a server is ignored',
    caughtBy: /min after its last use/,
    acts: USED,
    defects: () => ({
      requests: changeRequests(IDLE_CHECK, body => ({
        ...body,
        evidence: { last_activity_at: null, running_nodes: 0, events: [] },
      })),
      store: dropActivity,
    }),
  },
  {
    name: 'idle time since creation',
    breaks: 'idle time is counted from creation instead of the start',
    caughtBy: /too soon after it started to run/,
    // Restarted by LCM: a start by a user would keep it running for an hour.
    acts: [...ONE, SOON_IDLE, at(12, 'stop a machine')],
    defects: () => ({
      store: changeDocuments(RESOURCES.workers, worker => ({
        ...worker,
        entered_status_at: worker.created_at,
        pause: { ...worker.pause, last_resumed_at: null },
      })),
    }),
  },
  {
    name: 'min_workers ignored',
    breaks: 'idle workers are stopped until none is left',
    caughtBy: /the minimum is/,
    acts: Array.from({ length: 3 }, (_, n) => at(n / 10, 'create', { target: n / 10 })),
    defects: () => ({ store: withoutMinimum }),
  },
  {
    name: 'no limit for orphan terminations',
    breaks: 'all machines without a record are terminated at once',
    caughtBy: /without a record were terminated/,
    acts: [
      ...ONE,
      at(1, 'change settings', { target: 0.6 }),
      ...Array.from({ length: 5 }, (_, n) => at(2, 'launch a machine to discover', { target: n / 10, amount: 0.9 })),
    ],
    defects: () => ({
      requests: changeResponses(/orphan-terminations/, () => ({ granted: true, because: textReason('test') })),
    }),
  },
  {
    name: 'reservations not counted',
    breaks: 'reserved capacity is not subtracted',
    caughtBy: /and its book/,
    acts: [...ONE, at(15, 'book', { amount: 0.4 })],
    defects: () => ({
      store: changeDocuments(RESOURCES.workers, worker => ({
        ...worker,
        capacity: { ...worker.capacity, reserved: NOTHING_RESERVED },
      })),
    }),
  },
  {
    name: 'reservation ends with its start',
    breaks: 'capacity is promised to others for the time of a session',
    caughtBy: /reserves capacity for .* until/,
    acts: [...ONE, at(15, 'book', { amount: 0.4 })],
    defects: () => ({ store: changeReservations(({ from }) => ({ until: toInstant(toMs(from) + 1) })) }),
  },
  {
    name: 'lab start not recorded',
    breaks: 'a lab starts before those of earlier sessions are gone, because the ledger does not know that they run',
    caughtBy: /starts its lab, and its capacity is not known to be free/,
    acts: [...ONE, at(15, 'book', { amount: 0.4 })],
    defects: () => ({ store: changeReservations(() => ({ started_at: null })) }),
  },
  {
    name: 'drain forgets sessions',
    breaks: 'a drain drops the reservations of the worker',
    caughtBy: /released the capacity/,
    acts: [...ONE, at(15, 'book', { amount: 0.49 }), at(25, 'drain', { amount: 0.9 })],
    defects: () => ({
      store: changeDocuments(RESOURCES.workers, worker =>
        worker.drain === null
          ? worker
          : { ...worker, reservations: {}, capacity: { ...worker.capacity, reserved: NOTHING_RESERVED } },
      ),
    }),
  },
]

function withTokenInReason(request: ApiRequest, token: string): ApiRequest {
  if (token === '' || request.body === null || !request.url.endsWith('/status')) return request
  const body = JSON.parse(request.body)
  return {
    ...request,
    body: JSON.stringify({ ...body, decision: { ...body.decision, because: textReason(`it is ${token}`) } }),
  }
}

type Replace = <T extends Document>(
  documents: Collection<T>,
  ...args: Parameters<Collection<T>['replace']>
) => ReturnType<Collection<T>['replace']>

/** A store with another `replace`. */
const withReplace =
  (replace: Replace) =>
  (store: Store): Store => ({
    ...store,
    collection<T extends Document>(kind: Kind<T>): Collection<T> {
      const documents = store.collection(kind)
      return { ...documents, replace: (...args) => replace(documents, ...args) }
    },
  })

const lastWriteWins: Replace = async (documents, document, entries) => {
  const result = await documents.replace(document, entries)
  if (result.ok || result.reason !== 'stale') return result
  const current = await documents.get(document.id)
  return current === null ? result : documents.replace({ ...document, version: current.version + 1 }, entries)
}

/** Stores a stopped worker as PENDING, as an API without lifecycle checks would. */
const acceptAnyTransition: Replace = (documents, document, entries = []) => {
  const worker = document as typeof document & Partial<Pick<Worker, 'status' | 'state_history'>>
  const move = worker.state_history?.at(-1)
  if (move?.from !== 'STOPPING' || move.to !== 'STOPPED' || worker.status !== 'STOPPED')
    return documents.replace(document, entries)
  const state_history = [...(worker.state_history ?? []).slice(0, -1), { ...move, to: 'PENDING' }]
  const changedEntries = entries.map(entry =>
    entry.stream === 'transition' ? { ...entry, body: { ...entry.body, to: 'PENDING' } } : entry,
  )
  return documents.replace({ ...document, status: 'PENDING', state_history }, changedEntries)
}

/** Acknowledges license leaks and stores none. */
const withoutLeaks = (store: Store): Store => ({
  ...store,
  collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const documents = store.collection(kind)
    return kind.name === RESOURCES.leaks.name ? { ...documents, insert: async () => ({ ok: true }) } : documents
  },
})

/** Drops the activity of a worker with every write. */
const dropActivity = changeDocuments(RESOURCES.workers, worker => ({ ...worker, activity: NO_ACTIVITY }))

/** Settings are read without `min_workers`. */
const withoutMinimum = (store: Store): Store => ({
  ...store,
  collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const documents = store.collection(kind)
    if (kind.name !== RESOURCES.settings.name) return documents
    const without = (document: T): T => {
      const { given } = document as T & Pick<Settings, 'given'>
      return { ...document, given: { ...given, min_workers: 0 } }
    }
    return {
      ...documents,
      async get(id) {
        const document = await documents.get(id)
        return document && without(document)
      },
    }
  },
})
