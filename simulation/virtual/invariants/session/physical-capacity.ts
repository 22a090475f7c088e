import { isUp as isNodeUp, nodeStateAt } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { LabNeeds } from '@lcm/domain/lab/topology'
import { isFinal, isOver, isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'

const HAIR = 1e-6

interface PhysicalCapacityParts {
  readonly cloud: SimModel
  readonly following: {
    readonly workers: ReadonlyMap<string, Worker>
    readonly sessions: ReadonlyMap<string, LabletSession>
  }
  readonly clock: Pick<Clock, 'now'>
}

/** Labs of sessions that run on a machine fit into it, by the cloud alone and whatever its ledger says. */
export function overusedMachines({ cloud, following, clock }: PhysicalCapacityParts): string[] {
  return [...following.workers.values()].flatMap(({ name, ec2_instance_id, capacity: { declared } }) => {
    if (declared === null || ec2_instance_id === null || cloud.machine(ec2_instance_id)?.state !== 'running') return []
    const running = (cloud.cml.contextOf(ec2_instance_id)?.labs ?? []).flatMap(({ title, nodes }) => {
      const session = following.sessions.get(/ (ls-[0-9a-z-]+)$/.exec(title)?.[1] ?? '')
      const isRunning = nodes.some(node => isNodeUp(nodeStateAt(node, clock.now())))
      return isRunning && session !== undefined && !isFinal(session.status) ? [session] : []
    })
    const limits: LabNeeds = {
      ...declared,
      storage_gb: declared.storage_gb ?? Number.POSITIVE_INFINITY,
      node_count: declared.max_nodes,
    }
    return (['cpu_cores', 'memory_gb', 'storage_gb', 'node_count'] as const).flatMap(what => {
      const used = running.reduce((sum, { needs }) => sum + needs[what], 0)
      return used > limits[what] + HAIR ? [`labs on ${name} use ${used} of ${limits[what]} ${what}`] : []
    })
  })
}

/** The capacity of a session is reserved until its timeslot ends. */
export const shortReservations = (worker: Worker, sessions: ReadonlyMap<string, LabletSession>): string[] =>
  Object.entries(worker.reservations).flatMap(([id, { until }]) => {
    const session = sessions.get(id)
    if (session === undefined || session.worker_id !== worker.id || isOver(session) || until === null) return []
    const { end } = session.timeslot
    return until < end ? [`${worker.name} reserves capacity for ${id} until ${until}, and it ends at ${end}`] : []
  })

/** A lab starts only after its worker's ledger has permitted it. */
export function startedTooEarly(
  { id, status, worker_id }: LabletSession,
  workers: ReadonlyMap<string, Worker>,
): string[] {
  if (status !== 'INSTANTIATING' && !isUp(status)) return []
  const worker = workers.get(worker_id ?? '')
  if (worker === undefined || (worker.reservations[id]?.started_at ?? null) !== null) return []
  return [`${id} starts its lab, and its capacity is not known to be free on ${worker.name}`]
}
