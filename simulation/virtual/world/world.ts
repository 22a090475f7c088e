import { apiClient, type Client } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { PresetName } from '@lcm/cloud-sim/faults/fault-plan'
import { simMetrics } from '@lcm/cloud-sim/in-process/machine-metrics'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/sim-model'
import type { Dispatch } from '@lcm/contract/route-spec'
import { storedKeys } from '@lcm/control-plane/keys/secret-keys'
import { RESOURCES } from '@lcm/control-plane/resources'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { type LocalCoordination, localCoordination } from '@lcm/coordination/local/coordination'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Election } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Store } from '@lcm/store/store'
import { type SeededRandom, seededRandom } from '@lcm/testkit/seeded-random'
import { type VirtualTime, virtualTime } from '@lcm/testkit/virtual-time'
import type { Killable } from '../faults/killable-api-ports.ts'
import {
  type RandomFaults,
  randomFaults,
  unreliable,
  unreliableStore,
  withConcurrentWrites,
} from '../faults/random-faults.ts'
import { type RestartingApi, restartingApi } from '../faults/restarting-api.ts'
import { withCheckedWrites } from '../invariants/checked-writes.ts'
import type { Mutation } from '../invariants/cloud-mutation.ts'
import { cloudMutationMonitor } from '../invariants/cloud-mutation-monitor.ts'
import { decisionIndex } from '../invariants/decision-index.ts'
import { type Invariants, invariants } from '../invariants/invariants.ts'
import { requestedState } from '../invariants/requested-state-record.ts'
import { type LogLevel, scanningLogger, withoutLeakedSecrets } from '../invariants/secret/leaked-secrets.ts'
import { sentSecrets } from '../invariants/secret/secret-recipients.ts'
import { trustRecord } from '../invariants/secret/trust-record.ts'
import { unreadableSecrets } from '../invariants/secret/unreadable-secrets.ts'
import { keptSaves } from '../invariants/session/kept-saves.ts'
import { labMutationMonitor } from '../invariants/session/lab-mutation-monitor.ts'
import { labTruths } from '../invariants/session/lab-truth.ts'
import { type SessionInvariants, sessionInvariants } from '../invariants/session/session-invariants.ts'
import { sessionPromises } from '../invariants/session/session-promises.ts'
import { outageBackoff } from '../invariants/worker/outage-backoff.ts'
import { workerInvariants } from '../invariants/worker/worker-invariants.ts'
import { withClientRetries } from './client-retries.ts'
import { type CloudAccess, cloudAccess, cmlOver, computeOver, labsOver } from './cloud-ports.ts'
import { type LearnerName, METAL, openControlPlane, TOKENS } from './control-plane.ts'
import type { ControllerProcess } from './controller-process.ts'
import type { Settings } from './controller-settings.ts'
import { withDateHeader } from './date-header.ts'
import { type Disturbances, disturbances } from './disturbances.ts'
import { type EventFollower, eventFollower, followAll, hashStatuses } from './event-follower.ts'
import { hostedProcesses } from './hosted-processes.ts'
import { type OwnerChanges, ownerChanges } from './owner-changes.ts'
import { CML_LOGIN } from './planted-secrets.ts'
import { type PortCalls, portCalls } from './port-calls.ts'
import { type SessionProcesses, sessionProcesses } from './session-controller-processes.ts'
import { type TimeControl, timeControl } from './time-control.ts'
import { FLEET, startWorkerController } from './worker-controller-process.ts'

export interface WorldOptions {
  readonly speed?: number
  readonly preset?: PresetName
  readonly templates?: readonly WorkerTemplateSpec[]
  readonly settings?: Settings
  /** Licenses that the Smart Account owns. Default: unlimited. */
  readonly licensesOwned?: number
  /** Interval between two counts of labs. */
  readonly labsCountedMs?: number
  /** API processes on the same store. Default: 1. */
  readonly apiReplicas?: number
  /** Called for every line that a process logs. */
  onLog?(level: LogLevel, message: string): void
  /** Deliberate defects that the invariants must find. */
  readonly defects?: Defects
}

/** Each wraps one port. */
export interface Defects {
  compute?(compute: Compute): Compute
  cml?(cml: CmlSystem): CmlSystem
  labs?(labs: CmlLabs): CmlLabs
  election?(election: Election): Election
  changeKeys?(keys: ChangeKeys): ChangeKeys
  /** `clock` is synchronized with the API; `own` is the clock of the controller's machine. */
  clock?(clock: Clock, own: Clock): Clock
  store?(store: Store): Store
  /** Requests of controllers to the API. */
  requests?(dispatch: Dispatch, service: string): Dispatch
  /** Requests of all clients to the API. */
  api?(dispatch: Dispatch): Dispatch
  /** The clock of the API. */
  apiClock?(clock: Clock): Clock
  readonly settings?: Settings
}

/** The whole system in one process on virtual time: API, store, coordination, controllers, cloud. One seed, one run. */
export interface World extends Pick<TimeControl, 'runFor' | 'untilTrue' | 'failure'> {
  readonly time: VirtualTime
  /** As an admin. */
  readonly client: Client
  readonly api: RestartingApi
  /** All replicas of the API; `api` is the first one. */
  readonly apis: readonly RestartingApi[]
  /** Sends each request to one of the replicas, event streams included. */
  readonly toAnyApi: Dispatch
  learner(name: LearnerName): Client
  /** As the service that asks for more workers. */
  readonly scheduler: Client
  readonly cloud: SimModel
  readonly store: Store
  readonly access: CloudAccess
  readonly faults: RandomFaults
  /** The random stream of faults between the parts of LCM. */
  readonly chance: SeededRandom
  readonly calls: PortCalls
  readonly disturbances: Disturbances
  readonly coordination: LocalCoordination
  readonly invariants: Invariants
  /** Every change of the cloud that a controller requested. */
  readonly mutations: readonly Mutation[]
  /** The session controllers and their invariants. */
  readonly sessions: SessionProcesses &
    SessionInvariants &
    Pick<EventFollower, 'sessions' | 'labs'> & { readonly following: EventFollower }
  /** Number of change events so far. */
  eventCount(): number
  readonly ownerChanges: OwnerChanges
  /** Records that the CML server on that machine is used. */
  noteUse(machine: string): void
  startWorkerController(instanceId: string, aheadMs?: number): ControllerProcess
  worker(id: string): Promise<Worker>
  session(id: string): Promise<LabletSession>
  /** The latest versions, received by events. */
  workers(): readonly Worker[]
  /** Runs until the worker has that status; fails otherwise. */
  until(id: string, status: Worker['status'], limitMs?: number): Promise<Worker>
  /** Machines that are not terminated. */
  liveMachines(): number
  /** Checks all invariants once more and stops everything. */
  close(): Promise<void>
}

/** Opens time, random streams, store and cloud. */
function openBase(seed: number, options: WorldOptions) {
  const { speed = 1, preset = 'plain', defects = {}, licensesOwned } = options
  const time = virtualTime(seed)
  const { clock } = time
  // A separate random stream: faults must not depend on other draws.
  const chance = seededRandom(seed + 0.375 * 2 ** 52)
  const faults = randomFaults()
  const following = eventFollower()
  const usedMs = new Map<string, number>()
  return {
    ...{ time, clock, chance, faults, following, usedMs, defects, seed },
    store: openSqliteStore(':memory:'),
    keys: storedKeys([time.random.bytes(32)]),
    cloud: openSimModel({
      seed,
      clock,
      speed,
      preset,
      adminPassword: CML_LOGIN.password,
      ...(licensesOwned === undefined ? {} : { licensesOwned }),
    }),
    access: cloudAccess(),
    calls: portCalls(time),
    disturbances: disturbances(clock),
    ownerChanges: ownerChanges(),
    processes: hostedProcesses(),
    settings: mergedSettings(options.settings, defects.settings),
    faultParts: { faults, random: chance, clock },
  }
}
type Base = ReturnType<typeof openBase>

const mergedSettings = (first: Settings = {}, second: Settings = {}): Settings => ({
  worker: { ...first.worker, ...second.worker },
  scheduler: { ...first.scheduler, ...second.scheduler },
  lablets: { ...first.lablets, ...second.lablets },
})

/** Opens the invariants and the monitors. */
function openChecks(base: Base, { labsCountedMs = 1_000, templates = [METAL] }: WorldOptions) {
  const { time, cloud, store, access, following, clock, usedMs, disturbances, ownerChanges } = base
  const now = () => clock.now()
  const mutations: Mutation[] = []
  const latest = following.workers
  const records = {
    workers: store.collection(RESOURCES.workers),
    leaks: store.collection(RESOURCES.leaks),
    pools: store.collection(RESOURCES.licensePools),
    journal: store.journal,
  }
  const observed = { cloud, latest, fleet: FLEET, ...records, now }
  const requested = requestedState(['admin'], now)
  const checks = invariants({
    ...observed,
    requested: requested,
    sessions: following.sessions,
    unreadable: unreadableSecrets(base),
    isCloudHidden: () => access.isWrongAccount,
  })
  const trust = trustRecord()
  const { violated } = checks
  const onMutation = (mutation: Mutation) => {
    mutations.push(mutation)
    checks.mutated(mutation)
    const effect = `${mutation.by} asks to ${mutation.act} ${mutation.machine} of ${mutation.worker}`
    time.trace(effect)
    time.behavior(effect)
    time.history(`cloud of ${mutation.worker}`, mutation.act)
  }
  const { settings } = requested
  const saves = keptSaves({ truthOf: labTruths({ cloud, access, following }), following, settings, clock, violated })
  const isPolledOften = base.settings.lablets?.reconcileIntervalMs === undefined
  const promises = sessionPromises({ cloud, access, following, clock, disturbances, ownerChanges, isPolledOften })
  const sessions = sessionInvariants({
    cloud,
    following,
    clock,
    violated,
    labsCountedMs,
    settings,
    templates,
    disturbances,
    promises,
  })
  const parts = {
    cloud,
    fleet: FLEET,
    workers: latest,
    sessions: following.sessions,
    requested: requested,
    trust,
    ownerChanges,
    now,
    violated,
  }
  const workerRules = workerInvariants({ ...parts, usedMs: machine => usedMs.get(machine) ?? Number.NEGATIVE_INFINITY })
  const monitorParts = { ...observed, decided: decisionIndex(store.journal), violated, onMutation }
  const cloudMonitor = cloudMutationMonitor(monitorParts)
  const collections = { sessions: store.collection(RESOURCES.sessions), labs: store.collection(RESOURCES.labs) }
  const labMonitor = labMutationMonitor({
    ...monitorParts,
    ...collections,
    promises,
    saves,
    workerOf: cloudMonitor.workerOf,
  })
  const guardSecrets = sentSecrets({ cloud, mutations, workerOf: cloudMonitor.workerOf, trust, violated })
  return { checks, saves, mutations, requested, trust, sessions, workerRules, cloudMonitor, labMonitor, guardSecrets }
}

/** Opens the API, which can be killed, with store and coordination. */
async function openApi(base: Base, violated: (rule: string) => void, options: WorldOptions) {
  const { templates = [METAL], onLog, apiReplicas = 1 } = options
  const { time, clock, chance, defects, faultParts, processes } = base
  const logger = scanningLogger(violated, onLog)
  const local = localCoordination({ clock, firstEpoch: service => observer.nextEpoch(service) })
  const checkedStore = withCheckedWrites((defects.store ?? identity)(unreliableStore(base.store, faultParts)), violated)
  const parts = { time, clock, log: logger, secretKeys: base.keys, templates }
  // The follower must not miss changes while the API is down: events are checked against the store.
  const observer = await openControlPlane({ ...parts, store: base.store, changeKeys: local.changeKeys })
  const open = (ports: Killable) => {
    const store = ports.store(withConcurrentWrites(checkedStore, faultParts))
    const apiClock = (defects.apiClock ?? identity)(clock)
    return openControlPlane({ ...parts, clock: apiClock, store, changeKeys: ports.changeKeys(local.changeKeys) })
  }
  const onKill = (downMs: number) => base.disturbances.note('fault', downMs)
  const apiParts = { time, run: processes.run, open, onKill }
  const api = await restartingApi(apiParts)
  const apis = [api]
  while (apis.length < apiReplicas) apis.push(await restartingApi(apiParts))
  const routed: Dispatch = request => (/\/events(\?|$)/.test(request.url) ? observer : api).dispatch(request)
  const anyApi: Dispatch = request => (apis[chance.int(apis.length)] ?? api).dispatch(request)
  const [dispatch, toAnyApi] = [routed, anyApi].map(each =>
    withDateHeader(withoutLeakedSecrets((defects.api ?? identity)(each), { controllerTokens, violated }), clock),
  ) as [Dispatch, Dispatch]
  // As the lablet-controller, whose reads are not audited.
  const reader = apiClient(observer.dispatch, { token: TOKENS.lablets })
  return { logger, local, api, apis, reader, dispatch, toAnyApi: unreliable(toAnyApi, faultParts) }
}

export async function openWorld(seed: number, options: WorldOptions = {}): Promise<World> {
  const base = openBase(seed, options)
  const { time, clock, cloud, access, calls, processes, following, defects, faultParts, settings } = base
  const monitors = openChecks(base, options)
  const { checks, saves, mutations, requested, trust, sessions, workerRules, cloudMonitor, guardSecrets } = monitors
  const { violated } = checks
  const { logger, local, api, apis, reader, dispatch, toAnyApi } = await openApi(base, violated, options)
  const coordination = { ...local, changeKeys: (defects.changeKeys ?? identity)(local.changeKeys) }
  const userDispatch = withClientRetries(requested.record(trust.record(unreliable(dispatch, faultParts))), clock)
  const client = apiClient(userDispatch, { token: TOKENS.admin })
  processes.run(
    followAll(apiClient(dispatch, { token: TOKENS.admin }), following, [
      sessions.handlers,
      workerRules,
      hashStatuses(time),
    ]),
  )
  const controllerDispatch = (by: string, service: string) =>
    checks.fenced(by, (defects.requests ?? identity)(unreliable(saves.record(dispatch), faultParts), service), service)
  const shared = { time, coordination, settings, logger, run: processes.run, clockOf: defects.clock ?? identity }
  const elect = defects.election ?? identity
  const withBackoffCheck = outageBackoff({ cloud, now: () => clock.now(), violated })
  const labsOf = (by: string) =>
    guardSecrets(monitors.labMonitor(by, (defects.labs ?? identity)(labsOver(cloud, access, faultParts))))
  const controllers = sessionProcesses({ ...shared, elect, tokens: TOKENS, labsOf, dispatch: controllerDispatch })
  const withSaves = (check: () => Promise<void>) => () => saves.check(reader).then(check)
  const control = timeControl(time, checks, [checks.step, sessions.step])
  const worker = (id: string) => client.call('getWorker', { params: { id } })
  return {
    ...{ time, client, api, apis, toAnyApi, cloud, access, calls, coordination, mutations, ...control },
    ...{ store: base.store, chance: base.chance, faults: base.faults },
    ...{ disturbances: base.disturbances, ownerChanges: base.ownerChanges },
    learner: name => apiClient(userDispatch, { token: name }),
    scheduler: apiClient(dispatch, { token: TOKENS.scheduler }),
    invariants: { ...checks, check: withSaves(checks.check) },
    sessions: { ...sessions, ...following, ...controllers, following },
    eventCount: () => following.count(),
    noteUse: machine => void base.usedMs.set(machine, clock.now()),
    startWorkerController: (instanceId, aheadMs = 0) =>
      startWorkerController(
        { instanceId, aheadMs },
        {
          ...{ ...shared, calls, elect, token: TOKENS.controller, metrics: simMetrics(cloud) },
          dispatch: withBackoffCheck(controllerDispatch(instanceId, 'worker-controller')),
          compute: cloudMonitor.compute(instanceId, (defects.compute ?? identity)(computeOver(cloud, access))),
          cml: guardSecrets(
            cloudMonitor.cml(instanceId, (defects.cml ?? identity)(cmlOver(cloud, access, faultParts))),
          ),
        },
      ),
    worker,
    session: id => client.call('getSession', { params: { id } }),
    workers: () => [...following.workers.values()],
    async until(id, status, limitMs) {
      await control.untilTrue(`${status} of ${id}`, () => following.workers.get(id)?.status === status, limitMs)
      return worker(id)
    },
    liveMachines: () => cloud.machines().filter(({ state }) => state !== 'terminated').length,
    async close() {
      await withSaves(checks.finally)()
      await processes.stop(() => time.runFor(60_000))
      cloud.close()
      await base.store.close()
      control.throwIfViolated()
    },
  }
}

const { admin: _admin, ...CONTROLLERS } = TOKENS
const controllerTokens = Object.values(CONTROLLERS)

const identity = <T>(it: T): T => it
