import { UnreachableError } from '@lcm/client/api-error'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { z } from 'zod'
import { eventually } from './failover.ts'
import type { Household } from './household.ts'
import { type ServiceProcess, startSimulator } from './service-process.ts'

export const CONTROLLERS = ['worker-controller', 'resource-scheduler', 'lablet-controller'] as const

/** What a controller answered on its own port. */
export interface FaceAnswer {
  readonly status: number
  readonly type: string
  readonly body: unknown
}

/** Two processes of every controller and a simulated cloud of its own process, around an API. */
export interface SessionCluster {
  /** The administrator. */
  readonly client: Client
  /** Who leads, once exactly one of those that live does. */
  leaderOf(service: ServiceName): Promise<ServiceProcess>
  standbyOf(service: ServiceName): Promise<ServiceProcess>
  /** All of its processes that nobody has ended. */
  replicasOf(service: ServiceName): readonly ServiceProcess[]
  /** Another instance of it. */
  startStandby(service: ServiceName): Promise<ServiceProcess>
  /** Ends the leader without a warning or with one; answers its exit code once somebody else leads. */
  end(leader: ServiceProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
  /** Asks a controller on its own port; as the administrator unless another token, or none, is given. */
  ask(process: ServiceProcess, route: string, token?: string | null): Promise<FaceAnswer>
  /** How many machines there are, as only the cloud knows; it forgets what was terminated long ago. */
  machinesLaunched(): Promise<number>
  /** The labs on the CML of a machine, as only the simulator knows. */
  labsOn(instanceId: string): Promise<readonly SimulatedLab[]>
  close(): Promise<void>
}

const SimulatedMachines = z.object({ items: z.array(z.object({ instance_id: z.string() })) })
const SimulatedLabs = z.object({
  labs: z.array(z.object({ id: z.string(), title: z.string(), state: z.string(), node_count: z.int() })),
})
export type SimulatedLab = z.infer<typeof SimulatedLabs>['labs'][number]

const Health = z.object({ is_leader: z.boolean() })

/** Whether a controller leads; who does not answer does not. */
export async function leads({ url }: ServiceProcess): Promise<boolean> {
  const answer = await fetch(`${url}/health`).catch(() => null)
  return answer !== null && Health.parse(await answer.json()).is_leader
}

const SPEED = 1200

export async function openSessionCluster(household: Household, api: string): Promise<SessionCluster> {
  const { adminToken } = household
  const client = apiClient(httpTransport({ baseUrl: api, clock: systemClock }), { token: adminToken })
  const simulator = await startSimulator(SPEED)
  const tokens = new Map<ServiceName, string>()
  for (const service of CONTROLLERS) {
    const body = { name: service, role: 'controller', service } as const
    tokens.set(service, (await client.call('createToken', { body })).secret)
  }
  const crew = new Map<ServiceProcess, ServiceName>()
  let started = 0

  async function startStandby(service: ServiceName): Promise<ServiceProcess> {
    const place = { service, token: tokens.get(service) ?? '', api, cloud: simulator.url }
    const process = await household.startController(`${service}-${started++}`, place)
    crew.set(process, service)
    return process
  }
  const ofService = (service: ServiceName) => [...crew].flatMap(([one, its]) => (its === service ? [one] : []))
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
      const service = crew.get(leader)
      leader.signal(signal)
      const code = await leader.exited
      crew.delete(leader)
      if (service !== undefined) await leaderOf(service)
      return code
    },
    async ask({ url }, route, token = adminToken) {
      const [method = '', path = ''] = route.split(' ')
      const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
      const answer = await fetch(`${url}${path}`, { method, headers })
      const type = answer.headers.get('content-type') ?? ''
      return { status: answer.status, type, body: type.includes('json') ? await answer.json() : await answer.text() }
    },
    async machinesLaunched() {
      const answer = await fetch(`${simulator.url}/sim/v1/instances`)
      return SimulatedMachines.parse(await answer.json()).items.length
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

const LOOK_EVERY_MS = 50

/** Waits without keeping everybody busy, and looks again where the API that was asked died meanwhile. */
export const inTime = <T>(what: string, look: () => Promise<T | null>): Promise<T> =>
  eventually(
    what,
    () =>
      look().catch(error => {
        if (error instanceof UnreachableError) return null
        throw error
      }),
    LOOK_EVERY_MS,
  )
