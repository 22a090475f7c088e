import { randomInt } from 'node:crypto'
import { apiClient, type Client, UnreachableError } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { z } from 'zod'
import { eventually } from '../failover-run.ts'
import type { ControllerEnvironment, ProcessEnvironment } from '../processes/process-environment.ts'
import { type ServiceProcess, type SimulatorOptions, startSimulator } from '../processes/service-process.ts'

export const CONTROLLERS = ['worker-controller', 'resource-scheduler', 'lablet-controller'] as const

/** Response of a controller on its own port. */
export interface FaceAnswer {
  readonly status: number
  readonly type: string
  readonly body: unknown
}

/** Two processes of every controller and a process of the simulated cloud, for an API. */
export interface ControllerCluster {
  /** The administrator. */
  readonly client: Client
  /** The leader, once exactly one live process leads. */
  leaderOf(service: ServiceName): Promise<ServiceProcess>
  standbyOf(service: ServiceName): Promise<ServiceProcess>
  /** All running processes of the service. */
  replicasOf(service: ServiceName): readonly ServiceProcess[]
  /** Starts another instance. */
  startStandby(service: ServiceName): Promise<ServiceProcess>
  /** Ends the leader, and returns its exit code once another instance leads. */
  end(leader: ServiceProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
  /** kill -9 of one process, without waiting for another leader. */
  forget(process: ServiceProcess): Promise<void>
  /** Sends a request to the own port of a controller; by default with the token of the administrator. */
  ask(process: Pick<ServiceProcess, 'url'>, route: string, token?: string | null): Promise<FaceAnswer>
  /** Number of machines in the simulated cloud, including recently terminated ones. */
  machinesLaunched(): Promise<number>
  machines(): Promise<readonly SimulatedMachine[]>
  /** Licenses in use at the Smart Account. */
  seats(): Promise<readonly SimulatedSeat[]>
  /** kill -9 of the simulated cloud, and a new process at its address. Needs `cloudFolder`. */
  restartCloud(): Promise<void>
  /** Labs on the CML of a machine, read from the simulator. */
  labsOn(instanceId: string): Promise<readonly SimulatedLab[]>
  close(): Promise<void>
}

const SimulatedMachines = z.object({
  items: z.array(z.object({ instance_id: z.string(), state: z.string(), tags: z.record(z.string(), z.string()) })),
})
export type SimulatedMachine = z.infer<typeof SimulatedMachines>['items'][number]
const SimulatedLabs = z.object({
  labs: z.array(z.object({ id: z.string(), title: z.string(), state: z.string(), node_count: z.int() })),
})
export type SimulatedLab = z.infer<typeof SimulatedLabs>['labs'][number]
const SimulatedSeats = z.object({ items: z.array(z.object({ instance_id: z.string(), left_behind: z.boolean() })) })
/** A license that the Smart Account counts for a machine. */
export type SimulatedSeat = z.infer<typeof SimulatedSeats>['items'][number]

const Health = z.object({ is_leader: z.boolean() })

const HEALTH_MS_MAX = 2_000

/** Whether a controller leads; false when it does not respond. */
export async function leads({ url }: ServiceProcess): Promise<boolean> {
  const giveUp = new AbortController()
  const cancel = systemClock.after(HEALTH_MS_MAX, () => giveUp.abort())
  const answer = await fetch(`${url}/health`, { signal: giveUp.signal }).catch(() => null)
  cancel()
  return answer !== null && Health.parse(await answer.json()).is_leader
}

const SPEED = 1200

export interface SessionClusterOptions {
  /** Folder for the state of the simulated cloud; none keeps it in memory. */
  readonly cloudFolder?: string
  /** Speed of the simulated clock. */
  readonly speed?: number
  /** Extra settings for the controller of this name, by the address of the cloud. */
  readonly configure?: (name: string, service: ServiceName, cloud: string) => Promise<Partial<ControllerEnvironment>>
}

export async function openControllerCluster(
  environment: ProcessEnvironment,
  api: string,
  options: SessionClusterOptions = {},
): Promise<ControllerCluster> {
  const { adminToken } = environment
  const client = apiClient(httpTransport({ baseUrl: api, clock: systemClock }), { token: adminToken })
  // Stored state keeps its seed. Different seeds use different addresses.
  const kept: SimulatorOptions =
    options.cloudFolder === undefined ? {} : { folder: options.cloudFolder, seed: randomInt(2 ** 32) }
  const { speed = SPEED } = options
  let simulator = await startSimulator(speed, kept)
  const machines = async () => {
    const answer = await fetch(`${simulator.url}/sim/v1/instances`)
    return SimulatedMachines.parse(await answer.json()).items
  }
  const tokens = new Map<ServiceName, string>()
  for (const service of CONTROLLERS) {
    const body = { name: service, role: 'controller', service } as const
    tokens.set(service, (await client.call('createToken', { body })).secret)
  }
  const processes = new Map<ServiceProcess, ServiceName>()
  let started = 0

  async function startStandby(service: ServiceName): Promise<ServiceProcess> {
    const name = `${service}-${started++}`
    const base = { service, token: tokens.get(service) ?? '', api, cloud: simulator.url }
    const extra = await options.configure?.(name, service, simulator.url)
    const process = await environment.startController(name, { ...base, ...extra })
    processes.set(process, service)
    return process
  }
  const ofService = (service: ServiceName) => [...processes].flatMap(([one, its]) => (its === service ? [one] : []))
  const one = (service: ServiceName, isWanted: (isLeader: boolean) => boolean) =>
    inTime(`one leader of ${service}`, async () => {
      const all = ofService(service)
      const leading = await Promise.all(all.map(leads))
      if (leading.filter(Boolean).length !== 1) return null
      return all.find((_, index) => isWanted(leading[index] === true)) ?? null
    })
  const leaderOf = (service: ServiceName) => one(service, isLeader => isLeader)

  await Promise.all(CONTROLLERS.flatMap(service => [startStandby(service), startStandby(service)]))
  return {
    client,
    leaderOf,
    standbyOf: service => one(service, isLeader => !isLeader),
    replicasOf: ofService,
    startStandby,
    async end(leader, signal) {
      const service = processes.get(leader)
      leader.signal(signal)
      const code = await leader.exited
      processes.delete(leader)
      if (service !== undefined) await leaderOf(service)
      return code
    },
    async forget(process) {
      process.signal('SIGKILL')
      await process.exited
      processes.delete(process)
    },
    async ask({ url }, route, token = adminToken) {
      const [method = '', path = ''] = route.split(' ')
      const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
      const answer = await fetch(`${url}${path}`, { method, headers })
      const type = answer.headers.get('content-type') ?? ''
      return { status: answer.status, type, body: type.includes('json') ? await answer.json() : await answer.text() }
    },
    machinesLaunched: async () => (await machines()).length,
    machines,
    async seats() {
      const answer = await fetch(`${simulator.url}/sim/v1/smart-account`)
      return SimulatedSeats.parse(await answer.json()).items
    },
    async restartCloud() {
      simulator.signal('SIGKILL')
      await simulator.exited
      simulator = await startSimulator(speed, { ...kept, port: new URL(simulator.url).port })
    },
    async labsOn(instanceId) {
      const answer = await fetch(`${simulator.url}/sim/v1/instances/${instanceId}/cml`)
      return SimulatedLabs.parse(await answer.json()).labs
    },
    async close() {
      simulator.signal('SIGTERM')
      await simulator.exited
    },
  }
}

const POLL_MS = 50

/** Polls until there is a result; an unreachable API counts as none. */
export const inTime = <T>(what: string, read: () => Promise<T | null>): Promise<T> =>
  eventually(
    what,
    () =>
      read().catch(error => {
        if (error instanceof UnreachableError) return null
        throw error
      }),
    POLL_MS,
  )
