import { apiClient, type Client } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { PresetName } from '@lcm/cloud-sim/faults/fault-plan'
import { simMetrics } from '@lcm/cloud-sim/in-process/metrics'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/model'
import type { Dispatch } from '@lcm/contract/wire'
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
import { withClientRetries } from '../faults/client-retries.ts'
import { withDateHeader } from '../faults/date-header.ts'
import type { Killable } from '../faults/killable-store.ts'
import {
  type RandomFaults,
  randomFaults,
  unreliable,
  unreliableStore,
  withConcurrentWrites,
} from '../faults/random-faults.ts'
import { type RestartingApi, restartingApi } from '../faults/restarting-api.ts'
import { cloudMutationMonitor } from '../invariants/cloud-mutation-monitor.ts'
import { decisionIndex } from '../invariants/decision-index.ts'
import { type Invariants, invariants } from '../invariants/invariants.ts'
import { withoutLostUpdates } from '../invariants/lost-updates.ts'
import type { Mutation } from '../invariants/mutation.ts'
import { requestedState } from '../invariants/requested-state.ts'
import { type LogLevel, scanningLogger, withoutLeakedSecrets } from '../invariants/secret/leaked-secrets.ts'
import { sentSecrets } from '../invariants/secret/sent-secrets.ts'
import { labMutationMonitor } from '../invariants/session/lab-mutation-monitor.ts'
import { type SessionInvariants, sessionInvariants } from '../invariants/session/session-invariants.ts'
import { outageBackoff } from '../invariants/worker/outage-backoff.ts'
import { workerInvariants } from '../invariants/worker/worker-invariants.ts'
import { type TimeControl, timeControl } from './advance-time.ts'
import { type CloudAccess, cloudAccess, cmlOver, computeOver, labsOver } from './cloud-ports.ts'
import { type LearnerName, METAL, openControlPlane, TOKENS } from './control-plane.ts'
import { type ControllerProcess, FLEET, startController } from './controller-process.ts'
import type { Settings } from './controller-settings.ts'
import { type EventFollower, eventFollower, followAll, hashStatuses } from './event-follower.ts'
import { hostedProcesses } from './hosted-processes.ts'
import { CML_LOGIN } from './planted-secrets.ts'
import { type PortCalls, portCalls } from './port-calls.ts'
import { type SessionProcesses, sessionProcesses } from './session-processes.ts'

export interface WorldOptions {
  readonly speed?: number
  readonly preset?: PresetName
  readonly templates?: readonly WorkerTemplateSpec[]
  readonly settings?: Settings
  /** How many licenses the Smart Account can give away; as many as anybody wants where nothing is said. */
  readonly licensesOwned?: number
  /** How often labs are counted. */
  readonly labsCountedMs?: number
  /** Called for every line that a process logs. */
  onLog?(level: LogLevel, message: string): void
  /** Defects on purpose, which the invariants must find. */
  readonly defects?: Defects
}

/** Each wraps one of the ways between the parts. */
export interface Defects {
  compute?(compute: Compute): Compute
  cml?(cml: CmlSystem): CmlSystem
  labs?(labs: CmlLabs): CmlLabs
  election?(election: Election): Election
  changeKeys?(keys: ChangeKeys): ChangeKeys
  /** The clock that a controller goes by, which is the API's, and that of its own machine. */
  clock?(clock: Clock, own: Clock): Clock
  store?(store: Store): Store
  /** What a controller asks of the API. */
  asking?(dispatch: Dispatch, service: string): Dispatch
  /** The API as everybody meets it. */
  api?(dispatch: Dispatch): Dispatch
  readonly settings?: Settings
}

/** The whole system in one process on virtual time: API, store, coordination, controllers, cloud. One seed, one run. */
export interface World extends Pick<TimeControl, 'runFor' | 'untilTrue' | 'failure'> {
  readonly time: VirtualTime
  /** As an admin. */
  readonly client: Client
  readonly api: RestartingApi
  learner(name: LearnerName): Client
  /** As the service that asks for more workers. */
  readonly scheduler: Client
  readonly cloud: SimModel
  readonly store: Store
  readonly access: CloudAccess
  readonly faults: RandomFaults
  /** What strikes by chance between the parts of LCM. */
  readonly chance: SeededRandom
  readonly calls: PortCalls
  readonly coordination: LocalCoordination
  readonly invariants: Invariants
  /** Every change of the cloud that a controller has asked for. */
  readonly mutations: readonly Mutation[]
  /** The controllers of sessions, and what must hold of theirs. */
  readonly sessions: SessionProcesses & SessionInvariants & Pick<EventFollower, 'sessions' | 'labs'>
  /** How many changes were told by events. */
  eventCount(): number
  /** Records that the CML server on that machine is used. */
  noteUse(machine: string): void
  startController(instanceId: string, aheadMs?: number): ControllerProcess
  worker(id: string): Promise<Worker>
  session(id: string): Promise<LabletSession>
  /** As last told by events. */
  workers(): readonly Worker[]
  /** Runs on until the worker is there, or fails the test with what it was instead. */
  until(id: string, status: Worker['status'], limitMs?: number): Promise<Worker>
  /** Machines of this fleet that cost money or may come to. */
  liveMachines(): number
  /** Checks once more what must hold, and ends everything. */
  close(): Promise<void>
}

/** What everything else is made of. */
function openGround(seed: number, options: WorldOptions) {
  const { speed = 1, preset = 'plain', defects = {}, licensesOwned } = options
  const time = virtualTime(seed)
  const { clock } = time
  // A stream of its own: what strikes must not depend on what else is drawn.
  const chance = seededRandom(seed + 0.375 * 2 ** 52)
  const trouble = randomFaults()
  const following = eventFollower()
  const usedMs = new Map<string, number>()
  return {
    ...{ time, clock, chance, trouble, following, usedMs, defects, seed },
    store: openSqliteStore(':memory:'),
    cloud: openSimModel({
      seed,
      clock,
      speed,
      preset,
      adminPassword: CML_LOGIN.password,
      ...(licensesOwned === undefined ? {} : { licensesOwned }),
    }),
    ways: cloudAccess(),
    calls: portCalls(time),
    processes: hostedProcesses(),
    settings: mergedSettings(options.settings, defects.settings),
    troubles: { trouble, random: chance, clock },
  }
}
type Ground = ReturnType<typeof openGround>

const mergedSettings = (first: Settings = {}, second: Settings = {}): Settings => ({
  worker: { ...first.worker, ...second.worker },
  scheduler: { ...first.scheduler, ...second.scheduler },
  lablets: { ...first.lablets, ...second.lablets },
})

/** Opens the invariants and the monitors. */
function openWatch(ground: Ground, labsCountedMs: number) {
  const { time, cloud, store, ways, following, clock, usedMs } = ground
  const now = () => clock.now()
  const mutations: Mutation[] = []
  const latest = following.workers
  const records = {
    workers: store.collection(RESOURCES.workers),
    leaks: store.collection(RESOURCES.leaks),
    journal: store.journal,
  }
  const seen = { cloud, latest, fleet: FLEET, ...records, now }
  const heard = requestedState(['admin'], now)
  const watched = invariants({ ...seen, wishes: heard, isBlind: () => ways.isWrongAccount })
  const { violated } = watched
  const saw = (mutation: Mutation) => {
    mutations.push(mutation)
    watched.mutated(mutation)
    const effect = `${mutation.by} asks to ${mutation.act} ${mutation.machine} of ${mutation.worker}`
    time.trace(effect)
    time.behavior(effect)
    time.history(`cloud of ${mutation.worker}`, mutation.act)
  }
  const sessions = sessionInvariants({ cloud, following, clock, violated, labsCountedMs })
  const parts = { cloud, fleet: FLEET, workers: latest, sessions: following.sessions, wishes: heard, now, violated }
  const rules = workerInvariants({ ...parts, usedMs: machine => usedMs.get(machine) ?? Number.NEGATIVE_INFINITY })
  const witnessing = { ...seen, decided: decisionIndex(store.journal), violated, saw }
  const asWitness = cloudMutationMonitor(witnessing)
  const kinds = { sessions: store.collection(RESOURCES.sessions), labs: store.collection(RESOURCES.labs) }
  const labsSeen = labMutationMonitor({ ...witnessing, ...kinds, workerOf: asWitness.workerOf })
  const guarded = sentSecrets({ cloud, mutations, workerOf: asWitness.workerOf, violated })
  return { watched, mutations, heard, sessions, rules, asWitness, labsSeen, guarded }
}

/** The API, which may die, and everything that stands behind it. */
async function openApi(ground: Ground, violated: (rule: string) => void, { templates = [METAL], onLog }: WorldOptions) {
  const { time, clock, defects, troubles, processes } = ground
  const logger = scanningLogger(violated, onLog)
  const local = localCoordination({ clock, firstEpoch: service => observer.nextEpoch(service) })
  const kept = withoutLostUpdates((defects.store ?? same)(unreliableStore(ground.store, troubles)), violated)
  const parts = { time, log: logger, secretKey: time.random.bytes(32), templates }
  // The follower must not miss changes while the API is down: events are checked against the store.
  const observer = await openControlPlane({ ...parts, store: ground.store, changeKeys: local.changeKeys })
  const open = (mortal: Killable) => {
    const store = mortal.store(withConcurrentWrites(kept, troubles))
    return openControlPlane({ ...parts, store, changeKeys: mortal.changeKeys(local.changeKeys) })
  }
  const api = await restartingApi({ time, run: processes.run, open })
  const met: Dispatch = request => (/\/events(\?|$)/.test(request.url) ? observer : api).dispatch(request)
  const dispatch = withDateHeader(
    withoutLeakedSecrets((defects.api ?? same)(met), { controllerTokens, violated }),
    clock,
  )
  return { logger, local, api, dispatch }
}

export async function openWorld(seed: number, options: WorldOptions = {}): Promise<World> {
  const ground = openGround(seed, options)
  const { time, clock, cloud, ways, calls, processes, following, defects, troubles, settings } = ground
  const watch = openWatch(ground, options.labsCountedMs ?? 1_000)
  const { watched, mutations, heard, sessions, rules, asWitness, guarded } = watch
  const { violated } = watched
  const { logger, local, api, dispatch } = await openApi(ground, violated, options)
  const coordination = { ...local, changeKeys: (defects.changeKeys ?? same)(local.changeKeys) }
  const byPeople = withClientRetries(heard.heard(unreliable(dispatch, troubles)), clock)
  const client = apiClient(byPeople, { token: TOKENS.admin })
  processes.run(
    followAll(apiClient(dispatch, { token: TOKENS.admin }), following, [sessions.told, rules, hashStatuses(time)]),
  )
  const asked = (by: string, service: string) =>
    watched.fenced(by, (defects.asking ?? same)(unreliable(dispatch, troubles), service), service)
  const shared = { time, coordination, settings, logger, run: processes.run, clockOf: defects.clock ?? same }
  const elect = defects.election ?? same
  const backedOff = outageBackoff({ cloud, now: () => clock.now(), violated })
  const labsOf = (by: string) => guarded(watch.labsSeen(by, (defects.labs ?? same)(labsOver(cloud, ways, troubles))))
  const controllers = sessionProcesses({ ...shared, elect, tokens: TOKENS, labsOf, dispatch: asked })
  const going = timeControl(time, watched, [watched.step, sessions.step])
  const worker = (id: string) => client.call('getWorker', { params: { id } })
  return {
    ...{ time, client, api, cloud, access: ways, calls, coordination, mutations, ...going },
    ...{ store: ground.store, chance: ground.chance, faults: ground.trouble },
    learner: name => apiClient(byPeople, { token: name }),
    scheduler: apiClient(dispatch, { token: TOKENS.scheduler }),
    invariants: watched,
    sessions: { ...sessions, ...following, ...controllers },
    eventCount: () => following.count(),
    noteUse: machine => void ground.usedMs.set(machine, clock.now()),
    startController: (instanceId, aheadMs = 0) =>
      startController(
        { instanceId, aheadMs },
        {
          ...{ ...shared, calls, elect, token: TOKENS.controller, metrics: simMetrics(cloud) },
          dispatch: backedOff(asked(instanceId, 'worker-controller')),
          compute: asWitness.compute(instanceId, (defects.compute ?? same)(computeOver(cloud, ways))),
          cml: guarded(asWitness.cml(instanceId, (defects.cml ?? same)(cmlOver(cloud, ways, troubles)))),
        },
      ),
    worker,
    session: id => client.call('getSession', { params: { id } }),
    workers: () => [...following.workers.values()],
    async until(id, status, limitMs) {
      await going.untilTrue(`${status} of ${id}`, () => following.workers.get(id)?.status === status, limitMs)
      return worker(id)
    },
    liveMachines: () => cloud.machines().filter(({ state }) => state !== 'terminated').length,
    async close() {
      await watched.finally()
      await processes.stop(() => time.runFor(60_000))
      cloud.close()
      await ground.store.close()
      going.judge()
    },
  }
}

const { admin: _, ...CONTROLLERS } = TOKENS
const controllerTokens = Object.values(CONTROLLERS)

const same = <T>(it: T): T => it
