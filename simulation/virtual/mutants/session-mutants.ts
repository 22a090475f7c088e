import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { at, changeRequests, changeResponses, type Mutant } from './mutant.ts'

const BOOKED = [at(0, 'create'), at(15, 'book', { amount: 0.4 })]
/** More sessions than fit: five nodes run without a license. */
const CROWD = [
  at(0, 'create'),
  ...Array.from({ length: 3 }, (_, n) => at(15 + n / 100, 'book', { target: 0.9, amount: 0.4 })),
]
/** Two sessions that fit on one worker. */
const PAIR = [at(0, 'create'), at(15, 'book', { amount: 0.4 }), at(15.2, 'book', { amount: 0.41 })]
const gone = () => new CloudError('not_found', { code: '404', action: 'labs', message: 'no such lab' })
const lost = () => new CloudError('transient', { code: 'ECONNRESET', action: 'labs', message: 'on purpose' })

/** Hides labs whose removal was requested. */
function hideLabs(labs: CmlLabs, hidden: Set<string>): CmlLabs {
  return {
    ...labs,
    get: async (login, id, signal) => (hidden.has(id) ? Promise.reject(gone()) : labs.get(login, id, signal)),
    list: async (login, signal) => (await labs.list(login, signal)).filter(({ lab_id }) => !hidden.has(lab_id)),
  }
}

/** The default. */
const DEBOUNCE_MS = 500
/** Polling is off: with a poll every half minute a lost event only causes a delay. */
const NO_POLLING = {
  worker: { pollingEnabled: false },
  scheduler: { pollingEnabled: false },
  lablets: { pollingEnabled: false },
} as const

/** Filters the change events of each process. `newFilter` is called for each process. */
const filtered = (keys: ChangeKeys, newFilter: () => (key: string) => boolean): ChangeKeys => ({
  ...keys,
  source(prefix) {
    const source = keys.source(prefix)
    const isDelivered = newFilter()
    return {
      ...source,
      async *watch(afterRevision, signal) {
        for await (const message of source.watch(afterRevision, signal))
          if (message.type !== 'put' || isDelivered(message.key)) yield message
      },
    }
  },
})

/** Drops a key that was delivered within the window. */
function leadingEdgeOnly(windowMs: number, nowMs: () => number): (key: string) => boolean {
  const deliveredMs = new Map<string, number>()
  return key => {
    const isDelivered = nowMs() - (deliveredMs.get(key) ?? Number.NEGATIVE_INFINITY) >= windowMs
    if (isDelivered) deliveredMs.set(key, nowMs())
    return isDelivered
  }
}

const REPORT = /^PATCH .*\/lablet-sessions\/[^/]+\/status$/
const withoutConditions = changeRequests(REPORT, body => {
  const { changes } = body
  const isOfConditions = typeof changes === 'object' && changes !== null && 'conditions' in changes
  return isOfConditions ? { ...body, changes: { ...changes, conditions: [] } } : body
})

/** Defects of the session controllers and of their CML calls. */
export const sessionMutants: readonly Mutant[] = [
  {
    name: 'machine restart not noticed',
    breaks: 'a lab that stopped with its machine is not restarted, and no condition reports it',
    caughtBy: /stays stopped although its machine runs/,
    acts: [at(0, 'create'), at(15, 'book', { amount: 0.45 }), at(20, 'stop a machine')],
    defects: () => ({
      requests: (dispatch, service) =>
        service === 'lablet-controller'
          ? withoutConditions(
              changeResponses(/^GET .*\/workers\/w-[^/]+$/, worker => ({ ...worker, state_history: [] }))(dispatch),
            )
          : dispatch,
    }),
  },
  {
    name: 'restart blamed on a user',
    breaks: 'a lab that stopped with its machine is reported as stopped by a user and stays stopped',
    caughtBy: /reported as stopped by a user/,
    acts: [at(0, 'create'), at(15, 'book', { amount: 0.45 }), at(20, 'stop a machine')],
    defects: () => ({
      requests: changeRequests(REPORT, body =>
        JSON.parse(JSON.stringify(body).replaceAll('"lab_stopped_by_restart"', '"lab_stopped_on_cml"')),
      ),
    }),
  },
  {
    name: 'lab imported twice',
    breaks: 'an import with a lost response is repeated without a search for the first lab',
    caughtBy: /has 2 labs/,
    acts: BOOKED,
    defects() {
      let imports = 0
      return {
        labs: labs => ({
          ...labs,
          list: async () => [],
          async import(login, request, signal) {
            imports += 1
            const imported = await labs.import(login, request, signal)
            if (imports === 1) throw lost()
            return imported
          },
        }),
      }
    },
  },
  {
    name: 'lab left after its session',
    breaks: 'a lab counts as deleted when its deletion was requested',
    caughtBy: /is (ARCHIVED|TERMINATED) and has/,
    acts: BOOKED,
    defects() {
      const hidden = new Set<string>()
      return { labs: labs => ({ ...hideLabs(labs, hidden), delete: async (_, id) => void hidden.add(id) }) }
    },
  },
  {
    name: 'capacity freed early',
    breaks: 'a lab counts as stopped when its stop was requested',
    caughtBy: /while its lab runs/,
    acts: BOOKED,
    defects() {
      const hidden = new Set<string>()
      return {
        labs: labs => ({
          ...hideLabs(labs, hidden),
          stop: async (_, id) => void hidden.add(id),
          wipe: async () => undefined,
          delete: async () => undefined,
        }),
      }
    },
  },
  {
    name: 'step skipped as done',
    breaks: 'a step without an effect counts as done',
    caughtBy: /was never started/,
    acts: BOOKED,
    defects: () => ({
      labs: labs => ({
        ...labs,
        start: async () => undefined,
        isConverged: async () => true,
        get: async (...args) => ({ ...(await labs.get(...args)), state: 'STARTED' }),
        nodes: async (...args) => (await labs.nodes(...args)).map(node => ({ ...node, state: 'BOOTED' })),
      }),
    }),
  },
  {
    name: 'ports allocated twice',
    breaks: 'every lab gets the first ports of the pool',
    caughtBy: /as another session|a port twice/,
    acts: PAIR,
    defects: () => ({
      requests: changeResponses(/POST .*\/ports$/, ({ ports }) => ({
        ports: Object.fromEntries(Object.keys(Object(ports)).map((name, n) => [name, 2000 + n])),
      })),
    }),
  },
  {
    name: 'scale-up of one too many',
    breaks: 'scale-up creates more workers than the pending sessions need',
    caughtBy: /are created for sessions that need at most/,
    acts: CROWD,
    defects: () => ({
      requests: changeRequests(/\/workers\/scale-up/, body => ({ ...body, count: Number(body.count) + 1 })),
    }),
  },
  {
    name: 'debounce drops the last event',
    breaks:
      'without polling, the last of several quick changes is dropped instead of delivered at the end of the window',
    caughtBy: /is not started/,
    acts: BOOKED,
    defects() {
      let nowMs = () => 0
      return {
        settings: NO_POLLING,
        clock(clock) {
          nowMs = clock.monotonic
          return clock
        },
        changeKeys: keys => filtered(keys, () => leadingEdgeOnly(DEBOUNCE_MS, nowMs)),
      }
    },
  },
  {
    name: 'events dropped without a resync',
    breaks: 'without polling, a lost event is never made up for',
    caughtBy: /does not end/,
    acts: BOOKED,
    defects: () => ({ settings: NO_POLLING, changeKeys: keys => filtered(keys, () => () => false) }),
  },
  {
    name: 'session end forgotten',
    breaks: 'the lablet-controller never ends a session',
    caughtBy: /does not end/,
    acts: BOOKED,
    defects: () => ({
      requests: dispatch => request =>
        /PATCH .*lablet-sessions.*status/.test(`${request.method} ${request.url}`) &&
        /"STOPPING"/.test(request.body ?? '')
          ? new Promise(() => undefined)
          : dispatch(request),
    }),
  },
]
