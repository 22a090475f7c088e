import { CloudError } from '@lcm/cloud/errors'
import type { Dispatch } from '@lcm/contract/wire'
import { IdleCheck } from '@lcm/contract/worker-controller'
import { RESOURCES } from '@lcm/control-plane/resources'
import type { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { at, changeDocuments, changeLeadership, changeRequests, type Mutant } from './mutant.ts'

const ONE = [at(0, 'create')]
const THREE = [0, 0.1, 0.2].map(minute => at(minute, 'create'))

/** Each time another call of whoever leads the sessions is its last for a while; then the lead goes back to the first. */
const SLEEPING_LABLETS = [
  at(0, 'create'),
  ...Array.from({ length: 9 }, (_, n) => [
    at(15 + 10 * n, 'freeze a process at a call', { target: 0.7, amount: (30 + n) / 40, forMinutes: 2 }),
    at(15.01 + 10 * n, 'book'),
    at(20 + 10 * n, 'kill a process', { target: 0.95, amount: 0.1 }),
  ]).flat(),
]

/** Fenced is not only who changes machines. */
const labsUnfenced: Mutant = {
  name: 'no fencing of labs',
  breaks: 'nobody asks before a lab is changed whether the lease is still held',
  caughtBy: /long after|has 2 labs/,
  acts: SLEEPING_LABLETS,
  defects: () => ({ election: changeLeadership(leadership => ({ ...leadership, isHeld: () => true })) }),
}

/** Room to stop is counted by each check for itself. */
const twoIdleStops: Mutant = {
  name: 'two idle stops at once',
  breaks: 'idle workers are let go at once that may go only one after the other, until fewer run than must',
  caughtBy: /are the least/,
  acts: Array.from({ length: 3 }, (_, n) => at(n / 10, 'create', { target: n / 10 })),
  defects: () => ({ store: withoutPermits }),
}

/** Idle workers are paused after 15 min, and this one can't be judged any more. */
const CHANGED_PASSWORD = [...ONE, at(1, 'change settings'), at(15, 'change a CML password', { forMinutes: 150 })]

const asTimeout = (error: unknown): never => {
  if (!(error instanceof CloudError) || error.errorClass !== 'auth') throw error
  const { code, action, words } = error
  throw new CloudError('transient', { code, action, message: words })
}

/** Defects that only look harmless: of what is said to people, kept for later, or left behind. */
export const ruleMutants: readonly Mutant[] = [
  labsUnfenced,
  twoIdleStops,
  {
    name: 'a refusal counts as silence',
    breaks: 'a CML that refuses the login of LCM counts as one that did not answer',
    caughtBy: /refuses LCM, and nothing says so/,
    acts: CHANGED_PASSWORD,
    defects: () => ({
      cml: cml => ({
        ...cml,
        stats: (...args) => cml.stats(...args).catch(asTimeout),
        health: (...args) => cml.health(...args).catch(asTimeout),
        nodeDefinitions: (...args) => cml.nodeDefinitions(...args).catch(asTimeout),
        licensing: (...args) => cml.licensing(...args).catch(asTimeout),
        activity: (...args) => cml.activity(...args).catch(asTimeout),
      }),
    }),
  },
  {
    name: 'a refusal counts as idleness',
    breaks: 'a worker whose telemetry is refused counts as one that nobody uses',
    caughtBy: /is paused though its CML refuses LCM/,
    acts: CHANGED_PASSWORD,
    defects: () => ({
      requests: changeRequests(/idle-checks$/, body =>
        body.evidence === null ? { evidence: { last_activity_at: null, running_nodes: 0 } } : body,
      ),
    }),
  },
  {
    name: 'licensed without a license',
    breaks: 'a server that is known to the Smart Account counts as licensed, though no license was left for it',
    caughtBy: /is said to be licensed, and holds no license/,
    acts: [0, 0.1, 0.2].map(minute => at(minute, 'create with a license')),
    defects: () => ({
      cml: cml => ({
        ...cml,
        async licensing(login, signal) {
          const seen = await cml.licensing(login, signal)
          return seen.registration === 'COMPLETED' ? { ...seen, authorization: 'IN_COMPLIANCE' } : seen
        },
      }),
    }),
  },
  {
    name: 'machines changed without a decision',
    breaks: 'what is announced of a worker is written without its reason',
    caughtBy: /(launch|start|stop) of .* without a decision/,
    acts: [...ONE, at(20, 'stop'), at(40, 'start')],
    defects: () => ({ store: withoutDecisions(RESOURCES.workers.name) }),
  },
  {
    name: 'labs changed without a decision',
    breaks: 'what is announced of a session is written without its reason',
    caughtBy: /of the lab .* without a decision/,
    acts: [...ONE, at(15, 'book', { amount: 0.2 })],
    defects: () => ({ store: withoutDecisions(RESOURCES.sessions.name, RESOURCES.labs.name) }),
  },
  {
    name: 'cooldown forgotten',
    breaks: 'nobody remembers when the last worker was stopped as idle',
    caughtBy: /are stopped as idle within/,
    acts: [...THREE, at(1, 'change settings', { amount: 0.5 })],
    defects: () => ({
      store: changeReads(RESOURCES.fleetScaling, scaling => ({ ...scaling, last_scale_down_at: null })),
    }),
  },
  {
    name: 'own work counts as use',
    breaks: 'nodes that LCM itself stops and wipes count as nodes that people use',
    caughtBy: /by no person and no session/,
    acts: [...ONE, at(15, 'book', { amount: 0.2 })],
    defects: () => ({ requests: dispatch => changeRequests(/POST .*\/idle-checks$/, countLabEvents)(dispatch) }),
  },
  {
    name: 'end of a session does not count as use',
    breaks: 'a worker is idle since before its sessions, and is stopped as soon as they are over',
    caughtBy: /is paused \d+ min after somebody used it/,
    acts: [...ONE, at(1, 'change settings'), at(8, 'book', { amount: 0.2 })],
    defects: () => ({
      store: changeDocuments(RESOURCES.workers, ({ activity, ...worker }, before) => {
        const isOfSession = activity.recent_events.some(
          ({ at: when, category }) => category === 'session_end' && when === activity.last_activity_at,
        )
        const last_activity_at = isOfSession ? (before?.activity.last_activity_at ?? null) : activity.last_activity_at
        return { ...worker, activity: { ...activity, last_activity_at } }
      }),
    }),
  },
  {
    name: 'password in an error',
    breaks: 'the client of CML quotes the password that it was refused with',
    caughtBy: /a secret was (written|logged|told)/,
    acts: [at(0, 'create with a license')],
    defects: () => ({
      cml: cml => ({
        ...cml,
        async register({ password }) {
          throw new CloudError('invalid', { code: '403', action: 'register', message: `${password} is wrong` })
        },
      }),
    }),
  },
  {
    name: 'user data in an error',
    breaks: 'the client of EC2 quotes the user data that it was refused with',
    caughtBy: /a secret was (written|logged|told)/,
    acts: ONE,
    defects: () => ({
      compute: compute => ({
        ...compute,
        async launch(_, request) {
          const message = `invalid: ${JSON.stringify(request)}`
          throw new CloudError('invalid', { code: 'InvalidUserData.Malformed', action: 'RunInstances', message })
        },
      }),
    }),
  },
  {
    name: 'wish taken and lost',
    breaks: 'the API answers that a worker will be stopped, and forgets it',
    caughtBy: /and the last word of admin was STOPPED/,
    acts: [...ONE, at(20, 'stop')],
    defects: () => ({ api: dropStops }),
  },
  {
    name: 'given up and left running',
    breaks: 'a machine that never serves is not stopped when it is given up',
    caughtBy: /rest did not come/,
    acts: ONE,
    defects: () => ({
      cml: cml => ({
        ...cml,
        probe: async () => ({ stage: 'NOTHING', version: null, certificate_sha256: null, detail: 'refused' }),
      }),
      compute: compute => ({
        ...compute,
        power: async (region, act, ids, signal) =>
          act === 'stop' || act === 'force_stop' ? undefined : compute.power(region, act, ids, signal),
      }),
    }),
  },
]

/** The evidence of an idle check with events of all labs among what people did. */
function countLabEvents(body: Record<string, unknown>): unknown {
  const { evidence } = IdleCheck.parse(body)
  const last = evidence?.lab_events.at(-1)?.at ?? ''
  const isNewer = evidence !== null && last > (evidence.last_activity_at ?? '')
  return isNewer ? { evidence: { ...evidence, last_activity_at: last } } : body
}

/** Every check finds the fleet as if no other had taken room, and none loses a race for it. */
const withoutPermits = (store: Store): Store => ({
  ...store,
  collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const documents = store.collection(kind)
    if (kind.name !== RESOURCES.fleetScaling.name) return documents
    const blank: Partial<FleetScaling> = { stop_permits: {}, last_scale_down_at: null }
    return {
      ...documents,
      async get(id) {
        const document = await documents.get(id)
        return document && { ...document, ...blank }
      },
      async replace(document, entries) {
        const current = await documents.get(document.id)
        return documents.replace({ ...document, version: (current?.version ?? 0) + 1 }, entries)
      },
    }
  },
})

/** A store that keeps no decision with writes of these kinds. */
const withoutDecisions =
  (...names: readonly string[]) =>
  (store: Store): Store => ({
    ...store,
    collection<T extends Document>(kind: Kind<T>): Collection<T> {
      const documents = store.collection(kind)
      if (!names.includes(kind.name)) return documents
      return {
        ...documents,
        replace: (document, entries = []) =>
          documents.replace(
            document,
            entries.filter(({ stream }) => stream !== 'decision'),
          ),
      }
    },
  })

/** Documents of one kind, changed on their way out of the store. */
const changeReads =
  <K extends Document>(kind: Kind<K>, change: (document: K) => K) =>
  (store: Store): Store => ({
    ...store,
    collection<T extends Document>(of: Kind<T>): Collection<T> {
      const documents = store.collection(of)
      if (of.name !== kind.name) return documents
      return {
        ...documents,
        async get(id) {
          const document = await documents.get(id)
          return document && of.parse(change(kind.parse(document)))
        },
      }
    },
  })

const dropStops =
  (dispatch: Dispatch): Dispatch =>
  async request => {
    const [, path] = /^(.*\/workers\/w-[^/]+)\/stop$/.exec(request.url) ?? []
    if (request.method !== 'POST' || path === undefined) return dispatch(request)
    const answer = await dispatch({ ...request, method: 'GET', url: path, body: null })
    return { ...answer, status: 202 }
  }
