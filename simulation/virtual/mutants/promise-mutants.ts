import type { Dispatch } from '@lcm/contract/route-spec'
import { RESOURCES } from '@lcm/control-plane/resources'
import { degraded, HEALTHY } from '@lcm/domain/health'
import { reason } from '@lcm/domain/reason'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { at, changeDocuments, changeResponses, type Mutant } from './mutant.ts'

/** A session of 45 minutes on the only machine. */
const BOOKED = [at(0, 'create'), at(15, 'book', { amount: 0.4 })]
const TWO_NODES = [at(0, 'create'), at(15, 'book', { target: 0.5, amount: 0.4 })]
/** Two machines, so that a session can be moved. */
const MOVABLE = [at(0, 'create'), at(0.1, 'create', { target: 0.5 }), at(15, 'book', { amount: 0.4 })]
const TYPED = at(18, 'change a configuration', { target: 0.25 })

const SAVES = /^GET .*\/saves(\?|$)/
const WORKER = /^GET .*\/workers\/w-[^/]+$/
const WORKERS = /^GET .*\/workers(\/w-[^/]+)?(\?|$)/
const ofSessionControllers = (change: (dispatch: Dispatch) => Dispatch) => (dispatch: Dispatch, service: string) =>
  service === 'worker-controller' ? dispatch : change(dispatch)
const ofLablets = (change: (dispatch: Dispatch) => Dispatch) => (dispatch: Dispatch, service: string) =>
  service === 'lablet-controller' ? change(dispatch) : dispatch

/** The lablet-controller sees the worker with other times of its last restart. */
const withRestarts = (times: object) =>
  ofLablets(changeResponses(WORKER, worker => ({ ...worker, cml: { ...Object(worker.cml), ...times } })))

/** From the first lab that was stopped on CML, the worker counts as restarted since. */
function withRestartsForStops() {
  let cml: object = {}
  const restarted = { restarted_at: '2027-01-01T00:00:00.000Z', up_until: '2026-01-01T00:00:00.000Z' }
  const changed = changeResponses(WORKER, worker => ({ ...worker, cml: { ...Object(worker.cml), ...cml } }))
  return (dispatch: Dispatch): Dispatch =>
    request => {
      if (request.body?.includes('"lab_stopped_on_cml"')) cml = restarted
      return changed(dispatch)(request)
    }
}

/** A request that never reaches the API. */
const lost = () => new Promise<never>(() => undefined)

/** Loses assignments of sessions that were READY before. */
function withoutSecondAssignment() {
  const placed = new Set<string>()
  return (dispatch: Dispatch): Dispatch =>
    request => {
      const [, id = '', what] = /\/lablet-sessions\/(ls-[^/]+)\/(status|assignment)$/.exec(request.url) ?? []
      if (what === 'status' && request.body?.includes('"READY"')) placed.add(id)
      return what === 'assignment' && placed.has(id) ? lost() : dispatch(request)
    }
}

/** Removes the earlier saves of a session with each new one. */
function withoutEarlierSaves(store: Store): Store {
  return {
    ...store,
    collection<D extends Document>(of: Kind<D>): Collection<D> {
      const documents = store.collection(of)
      if (of.name !== RESOURCES.saves.name) return documents
      return {
        ...documents,
        async insert(document, entries) {
          const earlier = await documents.list({ limit: 100 })
          const inserted = await documents.insert(document, entries)
          for (const each of earlier) await documents.remove(each)
          return inserted
        },
      }
    },
  }
}

/** Defects that break what sessions promise to their owners. */
export const promiseMutants: readonly Mutant[] = [
  {
    name: 'reboot inside the guest not noticed',
    breaks: 'a lab that stopped with a reboot that EC2 does not show stays stopped',
    caughtBy: /stays stopped although its machine runs|reported as stopped by a user/,
    // A single node that stops may have been shut down on its console.
    acts: [...TWO_NODES, at(25, 'reboot a machine from inside', { amount: 0.2 })],
    defects: () => ({ requests: withRestarts({ restarted_at: null, up_until: null }) }),
  },
  {
    name: 'stop by the owner undone',
    breaks: 'every stopped lab counts as stopped by a restart of its machine, and is started again',
    caughtBy: /is started after its owner stopped it/,
    acts: [...BOOKED, at(25, 'stop a lab by hand')],
    defects: () => ({ requests: ofLablets(withRestartsForStops()) }),
  },
  {
    name: 'silence taken for a loss',
    breaks: 'a session whose CML is silent is treated as if its machine had stopped',
    caughtBy: /although its machine and its lab are there/,
    // The session runs on the second machine.
    acts: [...MOVABLE, at(25, 'silence a CML server', { target: 0.9, amount: 0.9 })],
    defects: () => ({ requests: ofSessionControllers(changeResponses(WORKERS, withSilentStopped)) }),
  },
  {
    name: 'lost session not placed again',
    breaks: 'a session whose machine is gone stays without a worker although another one has capacity',
    caughtBy: /has lost its machine, and does not run elsewhere/,
    acts: [
      ...MOVABLE,
      at(25, 'terminate a machine'),
      at(25, 'terminate a machine', { target: 0.9 }),
      at(30, 'create', { target: 0.7 }),
    ],
    defects: () => ({ requests: withoutSecondAssignment() }),
  },
  {
    name: 'old lab kept after a move',
    breaks: 'a session is moved, and its old lab is not deleted',
    // The API refuses to bind a second lab, so that the session never starts again.
    caughtBy: /has 2 labs|is (ARCHIVED|TERMINATED) and has/,
    acts: [...MOVABLE, at(25, 'move a session')],
    defects: () => ({
      store: changeDocuments(RESOURCES.labs, (lab, before) =>
        lab.pending_action?.action === 'delete' ? { ...lab, pending_action: before?.pending_action ?? null } : lab,
      ),
    }),
  },
  {
    name: 'cancellation forgotten',
    breaks: 'a canceled session is not ended before its slot is over',
    caughtBy: /is canceled, and is not ended/,
    acts: [...BOOKED, at(25, 'cancel')],
    defects: () => ({
      requests: dispatch => request => (request.body?.includes('"session_canceled"') ? lost() : dispatch(request)),
    }),
  },
  {
    name: 'health never refreshed',
    breaks: 'a session counts as healthy whatever happens to its lab',
    caughtBy: /is OK although its lab can't be used/,
    acts: [...BOOKED, at(25, 'silence a CML server', { amount: 0.9 })],
    defects: () => ({
      store: changeDocuments(RESOURCES.sessions, session => ({ ...session, health: HEALTHY })),
    }),
  },
  {
    name: 'health flaps',
    breaks: 'the health of a session that works changes back and forth',
    caughtBy: /is DEGRADED although its lab can be used/,
    acts: [...BOOKED, at(30, 'extend'), at(31, 'extend')],
    defects: () => ({
      store: changeDocuments(RESOURCES.sessions, session =>
        session.version % 2 === 0
          ? session
          : { ...session, health: degraded(reason('waiting_for_placement'), session.updated_at) },
      ),
    }),
  },
  {
    name: 'configuration not extracted',
    breaks: 'a save has the configurations that the nodes started with',
    caughtBy: /lacks \d+ lines of its lab/,
    acts: [...BOOKED, TYPED],
    defects: () => ({ labs: labs => ({ ...labs, extractConfiguration: async () => undefined }) }),
  },
  {
    name: 'save confirmed before its content is stored',
    breaks: 'the content of a save is cut off, and the API confirms it',
    caughtBy: /can't be read/,
    acts: [...BOOKED, TYPED],
    defects: () => ({
      store: store => ({
        ...store,
        blobs: { ...store.blobs, write: (id, content) => store.blobs.write(id, content.subarray(0, -1)) },
      }),
    }),
  },
  {
    name: 'earlier saves deleted',
    breaks: 'each save replaces the earlier ones, whatever the settings keep',
    caughtBy: /^save \d+ of ls-.* is lost/,
    acts: [...BOOKED, TYPED, at(28, 'change a configuration', { target: 0.5 })],
    defects: () => ({ store: withoutEarlierSaves }),
  },
  {
    name: 'moved session starts from scratch',
    breaks: 'a session that moves gets the lab of its definition instead of its last save',
    caughtBy: /is imported without save/,
    acts: [...MOVABLE, TYPED, at(35, 'move a session')],
    defects: () => ({ requests: ofLablets(changeResponses(SAVES, saves => ({ ...saves, items: [] }))) }),
  },
]

const withSilentStopped = (body: Record<string, unknown>) =>
  Array.isArray(body.items) ? { ...body, items: body.items.map(asStopped) } : asStopped(body)

/** As the record of a machine that stopped half an hour ago, while its CML is silent. */
const asStopped = <W extends Record<string, unknown>>(worker: W): W =>
  worker.status === 'RUNNING' && worker.service_status !== 'AVAILABLE'
    ? { ...worker, status: 'STOPPED', entered_status_at: '2026-01-01T00:00:00.000Z' }
    : worker
