import { CloudError } from '@lcm/cloud/errors'
import type { Dispatch } from '@lcm/contract/route-spec'
import { IdleCheck } from '@lcm/contract/worker-controller-routes'
import { RESOURCES } from '@lcm/control-plane/resources'
import type { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import { type Condition, Worker } from '@lcm/domain/worker/worker'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { at, changeDocuments, changeLeadership, changeRequests, changeResponses, type Mutant } from './mutant.ts'

const ONE = [at(0, 'create')]
const THREE = [0, 0.1, 0.2].map(minute => at(minute, 'create'))

/** Freezes the leader of the sessions at a different call each time; then the first leads again. */
const SLEEPING_LABLETS = [
  at(0, 'create'),
  ...Array.from({ length: 9 }, (_, n) => [
    at(15 + 10 * n, 'freeze a process at a call', { target: 0.7, amount: (30 + n) / 40, forMinutes: 2 }),
    at(15.01 + 10 * n, 'book'),
    at(20 + 10 * n, 'kill a process', { target: 0.95, amount: 0.1 }),
  ]).flat(),
]

/** Changes of labs are fenced, too. */
const labsUnfenced: Mutant = {
  name: 'no fencing of labs',
  breaks: 'labs are changed without a check of the lease',
  caughtBy: /long after|has 2 labs/,
  acts: SLEEPING_LABLETS,
  defects: () => ({ election: changeLeadership(leadership => ({ ...leadership, isHeld: () => true })) }),
}

/** Every idle check counts alone how many workers may stop. */
const twoIdleStops: Mutant = {
  name: 'two idle stops at once',
  breaks: 'concurrent idle stops leave fewer workers than the minimum',
  caughtBy: /the minimum is/,
  acts: Array.from({ length: 3 }, (_, n) => at(n / 10, 'create', { target: n / 10 })),
  defects: () => ({ store: withoutPermits }),
}

/** Idle workers are paused after 15 min, and the activity of this one can't be read. */
const CHANGED_PASSWORD = [...ONE, at(1, 'change settings'), at(15, 'change a CML password', { forMinutes: 150 })]

/** Four denials of the launch, the stop and the termination each. */
const DENIED_CHANGES = [
  ...[0, 40].map(minute => at(minute, 'deny changes of machines', { amount: 0.1 })),
  ...ONE,
  at(20, 'stop'),
  at(40, 'terminate'),
]

const asTimeout = (error: unknown): never => {
  if (!(error instanceof CloudError) || error.errorClass !== 'auth') throw error
  const { code, action, words } = error
  throw new CloudError('transient', { code, action, message: words })
}

/** Defects in reports, records and cleanup. */
export const ruleMutants: readonly Mutant[] = [
  labsUnfenced,
  twoIdleStops,
  {
    name: 'refused login treated as timeout',
    breaks: 'a login refused by CML counts as a timeout',
    caughtBy: /refuses LCM, and no condition reports it/,
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
    name: 'refused telemetry treated as idle',
    breaks: 'a worker with refused telemetry counts as idle',
    caughtBy: /is paused though its CML refuses LCM/,
    acts: CHANGED_PASSWORD,
    defects: () => ({
      requests: changeRequests(/idle-checks$/, body =>
        body.evidence === null ? { evidence: { last_activity_at: null, running_nodes: 0 } } : body,
      ),
    }),
  },
  {
    name: 'denials compared by text',
    breaks: 'a condition is written again at every denial, because AWS ends each with another encoded message',
    caughtBy: /was written again, and only its texts changed/,
    acts: DENIED_CHANGES,
    defects: () => ({
      requests: changeResponses(/GET .*\/workers\/w-[^/]+$/, body => {
        const worker = Worker.parse(body)
        return { ...worker, conditions: worker.conditions.map(forgetAwsCode) }
      }),
    }),
  },
  {
    name: 'licensed without a license',
    breaks: 'a registered server counts as licensed although no license was left for it',
    caughtBy: /reports a license and holds none/,
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
    breaks: 'changes of a worker are written without their decision',
    caughtBy: /(launch|start|stop) of .* without a decision/,
    acts: [...ONE, at(20, 'stop'), at(40, 'start')],
    defects: () => ({ store: withoutDecisions(RESOURCES.workers.name) }),
  },
  {
    name: 'labs changed without a decision',
    breaks: 'changes of a session are written without their decision',
    caughtBy: /of the lab .* without a decision/,
    acts: [...ONE, at(15, 'book', { amount: 0.2 })],
    defects: () => ({ store: withoutDecisions(RESOURCES.sessions.name, RESOURCES.labs.name) }),
  },
  {
    name: 'cooldown forgotten',
    breaks: 'the time of the last idle stop is forgotten',
    caughtBy: /are stopped as idle within/,
    acts: [...THREE, at(1, 'change settings', { amount: 0.5 })],
    defects: () => ({
      store: changeReads(RESOURCES.fleetScaling, scaling => ({ ...scaling, last_scale_down_at: null })),
    }),
  },
  {
    name: 'stops forgotten',
    breaks: 'automatic stops of the last 10 minutes are forgotten',
    caughtBy: /workers are stopped as idle within 10 min/,
    acts: [...THREE, at(1, 'change settings', { amount: 0.7 })],
    defects: () => ({ store: changeReads(RESOURCES.fleetScaling, scaling => ({ ...scaling, recent_stops: [] })) }),
  },
  {
    name: 'own work counts as use',
    breaks: 'lab changes by LCM itself count as use',
    caughtBy: /by no user and no session/,
    acts: [...ONE, at(15, 'book', { amount: 0.2 })],
    defects: () => ({ requests: dispatch => changeRequests(/POST .*\/idle-checks$/, countLabEvents)(dispatch) }),
  },
  {
    name: 'end of a session does not count as use',
    breaks: 'idle time starts before the sessions of a worker, which is stopped as soon as they end',
    caughtBy: /is paused \d+ min after its last use/,
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
    breaks: 'an error of the CML client contains the password',
    caughtBy: /a secret was (written|logged|sent)/,
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
    breaks: 'an error of the EC2 client contains the user data',
    caughtBy: /a secret was (written|logged|sent)/,
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
    name: 'accepted stop forgotten',
    breaks: 'the API accepts a stop request and drops it',
    caughtBy: /; admin requested STOPPED/,
    acts: [...ONE, at(20, 'stop')],
    defects: () => ({ api: dropStops }),
  },
  {
    name: 'failed machine left running',
    breaks: 'a machine that never serves is not stopped after the last retry',
    caughtBy: /never reached: a settled fleet/,
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

/** Only the text of the refusal is left to compare. */
const forgetAwsCode = ({ reason, ...condition }: Condition): Condition => ({
  ...condition,
  reason: { ...reason, params: { ...reason.params, aws_code: null } },
})

/** Counts lab events of LCM as user activity. */
function countLabEvents(body: Record<string, unknown>): unknown {
  const { evidence } = IdleCheck.parse(body)
  const last = evidence?.lab_events.at(-1)?.at ?? ''
  const isNewer = evidence !== null && last > (evidence.last_activity_at ?? '')
  return isNewer ? { evidence: { ...evidence, last_activity_at: last } } : body
}

/** Every check reads the fleet without permits of other checks, and none loses a race. */
const withoutPermits = (store: Store): Store => ({
  ...store,
  collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const documents = store.collection(kind)
    if (kind.name !== RESOURCES.fleetScaling.name) return documents
    const blank: Partial<FleetScaling> = { stop_permits: {}, last_scale_down_at: null, recent_stops: [] }
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

/** A store that drops decisions of writes of these kinds. */
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

/** Changes documents of one kind when they are read. */
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
