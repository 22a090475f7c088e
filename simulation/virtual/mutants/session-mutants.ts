import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { at, changeRequests, changeResponses, type Mutant } from './mutant.ts'

const BOOKED = [at(0, 'create'), at(15, 'book', { amount: 0.4 })]
/** More than fits: five nodes run without a license. */
const CROWD = [
  at(0, 'create'),
  ...Array.from({ length: 3 }, (_, n) => at(15 + n / 100, 'book', { target: 0.9, amount: 0.4 })),
]
/** Two that fit side by side. */
const PAIR = [at(0, 'create'), at(15, 'book', { amount: 0.4 }), at(15.2, 'book', { amount: 0.41 })]
const gone = () => new CloudError('not_found', { code: '404', action: 'labs', message: 'no such lab' })
const lost = () => new CloudError('transient', { code: 'ECONNRESET', action: 'labs', message: 'on purpose' })

/** Labs that hide what was to be removed. */
function hideLabs(labs: CmlLabs, hidden: Set<string>): CmlLabs {
  return {
    ...labs,
    get: async (login, id, signal) => (hidden.has(id) ? Promise.reject(gone()) : labs.get(login, id, signal)),
    list: async (login, signal) => (await labs.list(login, signal)).filter(({ lab_id }) => !hidden.has(lab_id)),
  }
}

/** As it ships. */
const DEBOUNCE_MS = 500
/** Polling is off: with a poll every half minute a lost event only causes a delay. */
const NO_POLLING = {
  worker: { pollingEnabled: false },
  scheduler: { pollingEnabled: false },
  lablets: { pollingEnabled: false },
} as const

/** Change events as each process receives them. `listening` is created for each process. */
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

/** A key that was seen within the window is dropped until the window ends. */
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

/** Defects of the controllers of sessions and between them and CML. */
export const sessionMutants: readonly Mutant[] = [
  {
    name: 'restart of a machine not noticed',
    breaks: 'a lab that stopped with its machine is not started again, and no condition says so',
    caughtBy: /stays stopped, though its machine was started again/,
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
    name: 'restart blamed on a person',
    breaks: 'a lab that stopped with its machine is said to be stopped on CML, and the next restart leaves it stopped',
    caughtBy: /said to be stopped by a person/,
    acts: [at(0, 'create'), at(15, 'book', { amount: 0.45 }), at(20, 'stop a machine')],
    defects: () => ({
      requests: changeRequests(REPORT, body =>
        JSON.parse(JSON.stringify(body).replaceAll('"WorkerRestarted"', '"STOPPED"')),
      ),
    }),
  },
  {
    name: 'lab imported twice',
    breaks: 'an import whose answer was lost is repeated without a look for the first',
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
    name: 'session over, lab left',
    breaks: 'a lab counts as removed because that was asked for',
    caughtBy: /is (ARCHIVED|TERMINATED) and has/,
    acts: BOOKED,
    defects() {
      const hidden = new Set<string>()
      return { labs: labs => ({ ...hideLabs(labs, hidden), delete: async (_, id) => void hidden.add(id) }) }
    },
  },
  {
    name: 'capacity freed early',
    breaks: 'a lab counts as stopped because that was asked for',
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
    name: 'skip as done',
    breaks: 'a step that has nothing to show for it counts as done',
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
    name: 'ports given twice',
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
    name: 'a flight of one too many',
    breaks: 'more workers are bought than what waits needs',
    caughtBy: /are bought for what needs at most/,
    acts: CROWD,
    defects: () => ({
      requests: changeRequests(/\/workers\/scale-up/, body => ({ ...body, count: Number(body.count) + 1 })),
    }),
  },
  {
    name: 'debounce that drops',
    breaks:
      'where nobody polls, the last of changes in quick succession is dropped, not kept for the end of the window',
    caughtBy: /nobody begins/,
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
    breaks: 'where nobody polls, what was not heard is never looked for',
    caughtBy: /does not end/,
    acts: BOOKED,
    defects: () => ({ settings: NO_POLLING, changeKeys: keys => filtered(keys, () => () => false) }),
  },
  {
    name: 'sessions ended by nobody',
    breaks: 'the controller of sessions forgets that slots end',
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
