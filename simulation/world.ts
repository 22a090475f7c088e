import { apiClient, type Client } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { PresetName } from '@lcm/cloud-sim/fault-plan'
import { simMetrics } from '@lcm/cloud-sim/metrics'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/model'
import type { Dispatch } from '@lcm/contract/wire'
import { type ControlPlane, controlPlane } from '@lcm/control-plane-api/control-plane'
import { LEAKS, WORKERS } from '@lcm/control-plane-api/kinds'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { type LocalCoordination, localCoordination } from '@lcm/coordination/local'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { type Election, type HostedService, silentLogger } from '@lcm/runtime'
import { openSqliteStore } from '@lcm/store/sqlite-store'
import type { Store } from '@lcm/store/store'
import { type VirtualTime, virtualTime } from '@lcm/testkit/virtual-time'
import type { WorkerControllerConfig } from '@lcm/worker-controller/config'
import { type ControllerProcess, FLEET, startController } from './controller-process.ts'
import { type Following, followAll, openFollowing } from './following.ts'
import { type Invariants, invariants } from './invariants.ts'
import { cmlOver, computeOver, labsOver, openWays, type Ways } from './outside.ts'
import { type PortCalls, portCalls } from './port-calls.ts'
import { type SessionInvariants, sessionInvariants } from './session-invariants.ts'
import { type SessionProcesses, sessionProcesses } from './session-processes.ts'
import { type Mutation, witness } from './witness.ts'

const TOKENS = { admin: 'admin', controller: 'controller', scheduler: 'scheduler', lablets: 'lablets' } as const
export const METAL = WorkerTemplateSpec.parse({
  name: 'metal',
  instance_types: ['m5zn.metal', 'm5.metal'],
  ami_name_pattern: 'cml-2.9.1-*',
  ami_owner: 'self',
  capacity: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 },
  cost_per_hour_usd: 4,
})
/** Trace lines that a failure shows. */
const TRACE_LINES = 30
export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS

export interface WorldOptions {
  readonly speed?: number
  readonly preset?: PresetName
  readonly templates?: readonly WorkerTemplateSpec[]
  readonly config?: Partial<WorkerControllerConfig>
  /** How often labs are counted. */
  readonly labsCountedMs?: number
  /** Defects on purpose, which the invariants must find. */
  readonly spoilt?: Spoilt
}

export interface Spoilt {
  compute?(compute: Compute): Compute
  cml?(cml: CmlSystem): CmlSystem
  labs?(labs: CmlLabs): CmlLabs
  election?(election: Election): Election
  /** What the controllers of sessions ask of the API. */
  asking?(dispatch: Dispatch): Dispatch
}

/** The whole system in one process on virtual time: API, store, coordination, controllers, cloud. One seed, one run. */
export interface World {
  readonly time: VirtualTime
  /** As an admin. */
  readonly client: Client
  /** As the service that asks for more workers. */
  readonly scheduler: Client
  readonly cloud: SimModel
  readonly store: Store
  readonly ways: Ways
  readonly calls: PortCalls
  readonly coordination: LocalCoordination
  readonly invariants: Invariants
  /** Every change of the cloud that a controller has asked for. */
  readonly mutations: readonly Mutation[]
  /** The controllers of sessions, and what must hold of theirs. */
  readonly sessions: SessionProcesses & SessionInvariants & Pick<Following, 'sessions' | 'labs'>
  startController(instanceId: string): ControllerProcess
  worker(id: string): Promise<Worker>
  session(id: string): Promise<LabletSession>
  /** As last told by events. */
  workers(): readonly Worker[]
  /** Runs on until the worker is there, or fails the test with what it was instead. */
  until(id: string, status: Worker['status'], limitMs?: number): Promise<Worker>
  untilTrue(what: string, isSo: () => boolean, limitMs?: number): Promise<void>
  runFor(ms: number): Promise<void>
  /** Machines of this fleet that cost money or may come to. */
  liveMachines(): number
  /** Checks once more what must hold, and ends everything. */
  close(): Promise<void>
}

export async function openWorld(seed: number, options: WorldOptions = {}): Promise<World> {
  const { speed = 1, preset = 'plain', spoilt = {} } = options
  const time = virtualTime(seed)
  const { clock } = time
  const store = openSqliteStore(':memory:')
  const cloud = openSimModel({ seed, clock, speed, preset })
  const ways = openWays()
  const calls = portCalls(time)
  const coordination = localCoordination({ clock, firstEpoch: service => plane.nextEpoch(service) })
  const plane = await openPlane(time, store, coordination.changeKeys, options.templates ?? [METAL])
  const processes = runner()
  const following = openFollowing()
  const latest = following.workers
  const client = apiClient(plane.dispatch, { token: TOKENS.admin })
  const { watched, asWitness, mutations } = watchers({ time, cloud, store, latest, ways })
  // Decisions and samples for event streams are read every second, which nobody here follows.
  for (const service of plane.services.filter(({ name }) => name !== 'live-news')) processes.run(service)
  const { violated } = watched
  const labsCountedMs = options.labsCountedMs ?? 1_000
  const sessions = sessionInvariants({ cloud, following, clock, violated, labsCountedMs })
  processes.run(followAll(client, following, sessions.told))
  const controllers = sessionProcesses({
    ...{ time, coordination, run: processes.run, tokens: TOKENS },
    labs: (spoilt.labs ?? same)(labsOver(cloud, ways)),
    dispatch: (by, service) => watched.fenced(by, (spoilt.asking ?? same)(plane.dispatch), service),
  })
  const going = passing(time, seed, { watched, sessions })
  const worker = (id: string) => client.call('getWorker', { params: { id } })
  return {
    ...{ time, client, cloud, store, ways, calls, coordination, mutations },
    scheduler: apiClient(plane.dispatch, { token: TOKENS.scheduler }),
    invariants: watched,
    sessions: { ...sessions, ...following, ...controllers },
    ...going,
    startController: instanceId =>
      startController(instanceId, {
        time,
        calls,
        coordination,
        dispatch: watched.fenced(instanceId, plane.dispatch),
        token: TOKENS.controller,
        compute: asWitness.compute(instanceId, (spoilt.compute ?? same)(computeOver(cloud, ways))),
        cml: asWitness.cml(instanceId, (spoilt.cml ?? same)(cmlOver(cloud, ways))),
        elect: spoilt.election ?? same,
        metrics: simMetrics(cloud),
        config: options.config ?? {},
        run: processes.run,
      }),
    worker,
    session: id => client.call('getSession', { params: { id } }),
    workers: () => [...latest.values()],
    async until(id, status, limitMs) {
      await going.untilTrue(`${status} of ${id}`, () => latest.get(id)?.status === status, limitMs)
      return worker(id)
    },
    liveMachines: () => cloud.machines().filter(({ state }) => state !== 'terminated').length,
    async close() {
      await watched.finally()
      await processes.stop(() => time.runFor(60_000))
      cloud.close()
      await store.close()
      going.judge()
    },
  }
}

interface Watching {
  readonly time: VirtualTime
  readonly cloud: SimModel
  readonly store: Store
  readonly latest: ReadonlyMap<string, Worker>
  readonly ways: Ways
}

/** Those who see to it that what must hold does. */
function watchers({ time, cloud, store, latest, ways }: Watching) {
  const mutations: Mutation[] = []
  const records = { workers: store.collection(WORKERS), leaks: store.collection(LEAKS), journal: store.journal }
  const seen = { cloud, latest, fleet: FLEET, ...records, now: () => time.clock.now() }
  const watched = invariants({ ...seen, isBlind: () => ways.isWrongAccount })
  const saw = (mutation: Mutation) => {
    mutations.push(mutation)
    time.trace(`${mutation.by} asks to ${mutation.act} ${mutation.machine} of ${mutation.worker}`)
  }
  return { watched, mutations, asWitness: witness({ ...seen, violated: watched.violated, saw }) }
}

/** How time passes while somebody watches. */
function passing(
  time: VirtualTime,
  seed: number,
  { watched, sessions }: { watched: Invariants; sessions: SessionInvariants },
) {
  const failure = (message: string) => {
    const lines = [`seed ${seed}: ${message}`, ...watched.violations, ...time.recentTrace().slice(-TRACE_LINES)]
    return new Error(lines.join('\n'))
  }
  const judge = () => {
    if (watched.violations.length > 0) throw failure('what must hold did not')
  }
  async function runUntil(isSo: () => boolean, limitMs: number): Promise<boolean> {
    let isMet = false
    const isEnough = () => {
      watched.step()
      sessions.step()
      isMet ||= isSo()
      return isMet || watched.violations.length > 0
    }
    await time.runUntil(isEnough, limitMs)
    judge()
    return isMet
  }
  return {
    judge,
    async runFor(ms: number): Promise<void> {
      await runUntil(() => false, ms)
    },
    async untilTrue(what: string, isSo: () => boolean, limitMs = HOUR_MS): Promise<void> {
      const isMet = await runUntil(isSo, limitMs)
      if (!isMet) throw failure(`${what} did not happen within ${limitMs / MINUTE_MS} min`)
    },
  }
}

const same = <T>(it: T): T => it

/** Services that run side by side and end together. */
function runner() {
  const running = new Set<{ stop: AbortController; ended: Promise<void> }>()
  let isOver = false
  return {
    /** The answer abandons the service: the dead are not waited for, since what they waited for never comes. */
    run(service: HostedService): () => void {
      const stop = new AbortController()
      if (isOver) stop.abort()
      const process = { stop, ended: service.run(stop.signal) }
      running.add(process)
      return () => {
        running.delete(process)
        stop.abort()
      }
    },
    async stop(letTimePass: () => Promise<void>): Promise<void> {
      isOver = true
      for (const { stop } of running) stop.abort()
      await letTimePass()
      await Promise.all([...running].map(({ ended }) => ended))
    },
  }
}

async function openPlane(
  time: VirtualTime,
  store: Store,
  changeKeys: ChangeKeys,
  templates: readonly WorkerTemplateSpec[],
): Promise<ControlPlane> {
  const plane = controlPlane({
    store,
    changeKeys,
    clock: time.clock,
    randomBytes: size => time.random.bytes(size),
    secretKey: time.random.bytes(32),
    config: { version: '0.0.0', profile: 'embedded', cloud: 'sim', regions: ['us-east-1'], settings: {} },
    log: silentLogger,
    process: { health: () => ({ status: 'healthy' }), ready: () => true, metrics: async () => '' },
  })
  plane.access.grant(TOKENS.admin, { id: 'admin', name: 'admin', role: 'admin', service: null })
  plane.access.grant(TOKENS.controller, { id: 'wc', name: 'wc', role: 'controller', service: 'worker-controller' })
  plane.access.grant(TOKENS.scheduler, { id: 'rs', name: 'rs', role: 'controller', service: 'resource-scheduler' })
  plane.access.grant(TOKENS.lablets, { id: 'lc', name: 'lc', role: 'controller', service: 'lablet-controller' })
  await plane.seed(templates)
  return plane
}
