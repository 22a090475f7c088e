import type { CmlLab, CmlLabs } from '@lcm/cloud/cml-labs'
import type { Dispatch } from '@lcm/contract/route-spec'
import { at, changeResponses, type Mutant } from './mutant.ts'

/** A session of 45 minutes on the only machine, with one node or two. */
const BOOKED = [at(0, 'create'), at(15, 'book', { amount: 0.4 })]
const TWO_NODES = [at(0, 'create'), at(15, 'book', { target: 0.5, amount: 0.4 })]

const WORKERS = /^GET .*\/workers(\/w-[^/]+)?(\?|$)/
const SAMPLES = /^GET .*\/workers\/w-[^/]+\/metrics/

/** The last answers of labs that CML no longer shows. */
function remembering(labs: CmlLabs): CmlLabs {
  const seen = new Map<string, CmlLab>()
  return {
    ...labs,
    async get(login, labId, signal) {
      const lab = await labs.get(login, labId, signal).catch(error => {
        const before = seen.get(labId)
        if (before === undefined) throw error
        return before
      })
      seen.set(labId, lab)
      return lab
    },
  }
}

/** A lab starts once; later starts are lost. */
function startingOnce(labs: CmlLabs): CmlLabs {
  const started = new Set<string>()
  return {
    ...labs,
    async start(login, labId, signal) {
      if (started.has(labId)) return
      started.add(labId)
      await labs.start(login, labId, signal)
    },
  }
}

/** Then the run must be able to end. */
const RESTARTS_MAX = 200

/** With every read the worker was restarted once more. */
function restartingAlways(): (dispatch: Dispatch) => Dispatch {
  let restarts = 0
  return changeResponses(WORKERS, worker => {
    const cml = Object(worker.cml)
    if (cml.restarted_at == null) return worker
    restarts = Math.min(restarts + 1, RESTARTS_MAX)
    const restarted_at = new Date(Date.UTC(2027) + restarts * 1000).toISOString()
    return { ...worker, cml: { ...cml, restarted_at, up_until: '2026-01-01T00:00:00.000Z' } }
  })
}

/** A worker that does not run counts as stopped for a long time. */
const withLongStops = (body: Record<string, unknown>) =>
  Array.isArray(body.items) ? { ...body, items: body.items.map(asLongStopped) } : asLongStopped(body)
const asLongStopped = <W extends Record<string, unknown>>(worker: W): W =>
  worker.status === 'STOPPED' || worker.status === 'STARTING'
    ? { ...worker, status: 'STOPPED', entered_status_at: '2026-01-01T00:00:00.000Z' }
    : worker

/** Defects in what LCM does about labs and machines that break again and again. */
export const brokenLabMutants: readonly Mutant[] = [
  {
    name: 'shutdown taken for a reboot',
    breaks: 'nodes that a learner shuts down one after the other are started again',
    caughtBy: /is started after its owner stopped it/,
    acts: [...TWO_NODES, at(25, 'end a node from inside'), at(30, 'end a node from inside', { amount: 0.9 })],
    defects: () => ({ requests: changeResponses(SAMPLES, samples => ({ ...samples, items: [] })) }),
  },
  {
    name: 'lab started in a loop',
    breaks: 'a lab that does not start after a restart is started without a pause',
    caughtBy: /was started \d+ times in 10 min/,
    acts: [...BOOKED, at(25, 'reboot a machine')],
    defects: () => ({
      labs: startingOnce,
      requests: (dispatch, service) => (service === 'lablet-controller' ? restartingAlways()(dispatch) : dispatch),
    }),
  },
  {
    name: 'lab API that fails taken for no labs',
    breaks: 'a session ends because CML refuses to list its labs',
    caughtBy: /although its machine and its lab are there/,
    acts: [...BOOKED, at(25, 'fail the lab API')],
    defects: () => ({
      labs: labs => ({
        ...labs,
        list: (...args) => labs.list(...args).catch(() => []),
        get: (login, labId, signal) =>
          labs.get(login, labId, signal).catch((error: Error) => {
            throw Object.assign(error, { errorClass: 'not_found' })
          }),
      }),
    }),
  },
  {
    name: 'lab API that fails not reported',
    breaks: 'a session counts as healthy while CML serves, but not its labs',
    caughtBy: /is OK although its lab can't be used/,
    acts: [...BOOKED, at(25, 'fail the lab API')],
    defects: () => ({ labs: remembering }),
  },
  {
    name: 'session moved back and forth',
    breaks: 'a session leaves its worker whenever its machine is restarted',
    caughtBy: /is moved again after/,
    // Neither machine is stopped as idle, so that the session can move to the other one and back.
    acts: [
      at(0, 'create', { amount: 0.8 }),
      at(0.1, 'create', { target: 0.5, amount: 0.8 }),
      at(15, 'book', { amount: 0.4 }),
      ...[25, 27, 29, 31].flatMap(minute => [at(minute, 'stop a machine', { target: minute % 4 === 1 ? 0 : 0.9 })]),
    ],
    defects: () => ({
      requests: (dispatch, service) =>
        service === 'worker-controller' ? dispatch : changeResponses(WORKERS, withLongStops)(dispatch),
    }),
  },
]
