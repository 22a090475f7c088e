import { createHash } from 'node:crypto'
import { apiClient, type Client } from '@lcm/client/client'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml-login'
import { simCmlSystem } from '@lcm/cloud-sim/cml-system'
import { simCompute } from '@lcm/cloud-sim/compute'
import { simMetrics } from '@lcm/cloud-sim/metrics'
import { openSimModel, type SimModel } from '@lcm/cloud-sim/model'
import type { Dispatch } from '@lcm/contract/wire'
import { type ControlPlane, controlPlane } from '@lcm/control-plane-api/control-plane'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { localCoordination } from '@lcm/coordination/local'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import { type HostedService, silentLogger, silentMeter } from '@lcm/runtime'
import { decisionLog } from '@lcm/service/decision-log'
import { registeredElection } from '@lcm/service/registered-election'
import { openSqliteStore } from '@lcm/store/sqlite-store'
import type { Store } from '@lcm/store/store'
import { type VirtualTime, virtualTime } from '@lcm/testkit/virtual-time'
import { WORKER_CONTROLLER_DEFAULTS } from '@lcm/worker-controller/config'
import { ledMachines } from '@lcm/worker-controller/led-machines'
import { workerController } from '@lcm/worker-controller/worker-controller'
import { type PortCalls, portCalls } from './port-calls.ts'

const FLEET = 'simulated-fleet'
const TOKENS = { admin: 'admin', controller: 'controller' } as const
const METAL = WorkerTemplateSpec.parse({
  name: 'metal',
  instance_types: ['m5zn.metal', 'm5.metal'],
  ami_name_pattern: 'cml-2.9.1-*',
  ami_owner: 'self',
  capacity: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 },
  cost_per_hour_usd: 4,
})

/** The whole system in one process on virtual time: API, store, coordination, controller, cloud. One seed, one run. */
export interface World {
  readonly time: VirtualTime
  readonly client: Client
  readonly cloud: SimModel
  readonly calls: PortCalls
  /** Starts a controller; it dies at once, as by kill -9, when its handle is called. */
  startController(instanceId: string): () => void
  worker(id: string): Promise<Worker>
  /** Runs on until the worker is there, or fails the test with what it was instead. */
  until(id: string, status: Worker['status'], limitMs?: number): Promise<Worker>
  /** Machines of this fleet that cost money or may come to. */
  liveMachines(): number
  close(): Promise<void>
}

export async function openWorld(seed: number, { speed = 1 } = {}): Promise<World> {
  const time = virtualTime(seed)
  const { clock } = time
  const store = openSqliteStore(':memory:')
  const cloud = openSimModel({ seed, clock, speed })
  const calls = portCalls(time)
  const coordination = localCoordination({ clock, firstEpoch: service => plane.nextEpoch(service) })
  const plane = await openPlane(time, store, coordination.changeKeys)
  const processes = runner()
  const latest = new Map<string, Worker>()
  const client = apiClient(plane.dispatch, { token: TOKENS.admin })
  // Decisions and samples for event streams are read every second, which nobody here follows.
  for (const service of plane.services.filter(({ name }) => name !== 'live-news')) processes.run(service)
  processes.run(followWorkers(client, latest))

  function startController(instanceId: string): () => void {
    const life = calls.life()
    const logger = silentLogger
    const dispatch = life.watch(request => `api.${request.method}`, traced(plane, time))
    const api = apiClient(dispatch, { token: TOKENS.controller })
    const election = coordination.election('worker-controller', instanceId)
    const unwatched = apiClient(plane.dispatch, { token: TOKENS.controller })
    const decisions = decisionLog({ client: unwatched, clock, logger, instanceId })
    const led = ledMachines({
      compute: life.watchAll('ec2', simCompute(cloud)),
      election: registeredElection({ election, service: 'worker-controller', client: api, clock, logger }),
      clock,
    })
    const controller = workerController({
      ...led,
      metrics: life.watchAll('cloudwatch', simMetrics(cloud)),
      client: api,
      decisions,
      cml: life.watchAll('cml', simCmlSystem(cloud)),
      changeKeys: coordination.changeKeys,
      clock,
      logger,
      meter: silentMeter,
      config: {
        ...WORKER_CONTROLLER_DEFAULTS,
        fleet: FLEET,
        regions: REGIONS,
        policy: WORKER_POLICY,
        cmlDefaults: DEFAULT_CML_LOGIN,
      },
    })
    const abandoned = [controller.service, decisions.service].map(processes.run)
    return () => {
      life.end()
      coordination.faults.crash(instanceId)
      for (const abandon of abandoned) abandon()
    }
  }

  const worker = (id: string) => client.call('getWorker', { params: { id } })
  return {
    time,
    client,
    cloud,
    calls,
    startController,
    worker,
    async until(id, status, limitMs = 60 * 60_000) {
      if (await time.runUntil(() => latest.get(id)?.status === status, limitMs)) return worker(id)
      const trace = time.recentTrace().slice(-30).join('\n')
      throw new Error(`${id} is ${latest.get(id)?.status}, not ${status}, after ${limitMs} ms\n${trace}`)
    },
    liveMachines: () => cloud.machines().filter(machine => machine.state !== 'terminated').length,
    async close() {
      await processes.stop(() => time.runFor(60_000))
      cloud.close()
      await store.close()
    },
  }
}

/** Services that run side by side and end together. */
function runner() {
  const running = new Set<{ stop: AbortController; ended: Promise<void> }>()
  return {
    /** The answer abandons the service: the dead are not waited for, since what they waited for never comes. */
    run(service: HostedService): () => void {
      const stop = new AbortController()
      const process = { stop, ended: service.run(stop.signal) }
      running.add(process)
      return () => {
        running.delete(process)
        stop.abort()
      }
    },
    async stop(letTimePass: () => Promise<void>): Promise<void> {
      for (const { stop } of running) stop.abort()
      await letTimePass()
      await Promise.all([...running].map(({ ended }) => ended))
    },
  }
}

async function openPlane(time: VirtualTime, store: Store, changeKeys: ChangeKeys): Promise<ControlPlane> {
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
  await plane.seed([METAL])
  return plane
}

const REGIONS = {
  'us-east-1': { security_group_ids: [], subnets: ['subnet-use1a', 'subnet-use1b'], key_name: null, default_tags: {} },
}

/** What a console would show, by the same events. */
const followWorkers = (client: Client, latest: Map<string, Worker>): HostedService => ({
  name: 'follower',
  async run(signal) {
    for await (const { event } of client.events({ after: '0', signal })) {
      if (event.type === 'worker.created' || event.type === 'worker.updated') latest.set(event.id, event.data)
    }
  },
})

/** Every write that the API took, as part of the run's identity. */
function traced(plane: ControlPlane, time: VirtualTime): Dispatch {
  return async request => {
    const response = await plane.dispatch(request)
    const text =
      typeof response.body === 'string' ? createHash('sha256').update(response.body).digest('hex').slice(0, 8) : ''
    if (request.method !== 'GET') time.trace(`${request.method} ${request.url} ${response.status} ${text}`)
    return response
  }
}
