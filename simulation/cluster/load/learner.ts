import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Client } from '@lcm/client/client'
import type { WorkerView } from '@lcm/contract/worker'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { type ControllerCluster, inTime } from '../clusters/controller-cluster.ts'

const TWO_ROUTERS = fileURLToPath(new URL('../../../examples/labs/two-routers.yaml', import.meta.url))

/** A learner that books labs on a cluster with workers. */
export interface Learner {
  /** The first worker. */
  readonly workerId: string
  /** All workers: sessions run on others while the first ones are stopped. */
  workers(): Promise<readonly WorkerView[]>
  session(id: string): Promise<LabletSession>
  book(): Promise<LabletSession>
  until(id: string, what: string, holds: (session: LabletSession) => boolean): Promise<LabletSession>
  /** Cancels the session and waits for its end. */
  cancel(id: string): Promise<LabletSession>
  /** Number of labs of the session on the CML servers of all machines, also of those that are stopped. */
  labsOf(id: string): Promise<number>
}

interface Enrolment {
  /** Client of the learner; by default the one of the cluster. */
  readonly client?: Client
  readonly workers?: number
  /** Topology of the lab; by default the example. */
  readonly topology?: string
  /** Unlicensed workers run at most five nodes. */
  readonly isLicensed?: boolean
}

/** License of the workers. */
export const LICENSE = { product: 'CML_Personal40', token: 'token-of-the-class' }

const DEFINITION = 'two-routers'

/** Creates the definition and the workers, and waits until they serve. */
export async function enroll(cluster: ControllerCluster, enrolment: Enrolment = {}): Promise<Learner> {
  const { client = cluster.client, workers = 1, isLicensed = false } = enrolment
  const { topology = readFileSync(TWO_ROUTERS, 'utf8') } = enrolment
  await client.call('createDefinition', { body: { name: DEFINITION, topology } })
  const ids = await Promise.all(
    Array.from({ length: workers }, async (_, index) => {
      const body = { template_name: 'metal', name: `metal-${index + 1}`, ...(isLicensed ? { license: LICENSE } : {}) }
      return (await client.call('createWorker', { body })).id
    }),
  )
  await Promise.all(ids.map(id => untilItServes(client, id, isLicensed)))
  const session = (id: string) => client.call('getSession', { params: { id } })
  const until: Learner['until'] = (id, what, holds) =>
    inTime(`${what} of ${id}`, async () => {
      const now = await session(id)
      return holds(now) ? now : null
    })
  return {
    workerId: ids[0] ?? '',
    workers: async () => (await client.call('listWorkers', { query: { limit: 1000 } })).items,
    session,
    book: () => client.call('createSession', { body: { definition: DEFINITION, duration_minutes: 30 } }),
    until,
    async cancel(id) {
      await client.call('cancelSession', { params: { id } })
      return until(id, 'end', ({ status }) => status === 'TERMINATED')
    },
    async labsOf(id) {
      const machines = (await cluster.machines()).filter(({ state }) => state !== 'terminated')
      const labs = (await Promise.all(machines.map(({ instance_id }) => cluster.labsOn(instance_id)))).flat()
      return labs.filter(({ title }) => title.endsWith(` ${id}`)).length
    },
  }
}

const untilItServes = (client: Client, id: string, isLicensed: boolean): Promise<true> =>
  inTime('a worker that serves', async () => {
    const { status, service_status, license } = await client.call('getWorker', { params: { id } })
    const isReady = !isLicensed || license.status === 'REGISTERED'
    return status === 'RUNNING' && service_status === 'AVAILABLE' && isReady ? true : null
  })

export const isRunning = ({ status }: LabletSession): boolean => status === 'RUNNING'

/** Statuses of a session that ran and was canceled. */
export const WHOLE_STORY: readonly string[] = [
  ...['PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING', 'STOPPING', 'STOPPED', 'TERMINATED'],
]
