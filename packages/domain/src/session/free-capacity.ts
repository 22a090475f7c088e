import { PORT_POOL } from '../lab/ports.ts'
import { FREE_NODES, nodesOfProduct } from '../license/nodes-of-product.ts'
import { type Reason, reason } from '../reason.ts'
import type { Shortage } from '../text/reasons/placement-reasons.ts'
import { approvalRequired, needsApproval } from '../worker/instance-trust.ts'
import { CONDITION, holds, type Worker } from '../worker/worker.ts'

export interface FreeResources {
  readonly cpu_cores: number
  readonly memory_gb: number
  readonly storage_gb: number
  readonly nodes: number
  readonly ports: number
}

/** The facts that placement needs about a worker, computed once: a cycle compares every worker with every session. */
export interface FreeCapacity {
  readonly worker: Worker
  /** Why the worker accepts no sessions; null if it does. */
  readonly closed: Reason | null
  readonly free: FreeResources
  /** How full the worker is. The fullest that fits is taken. */
  readonly score: number
  /** Whether the worker is not available yet, so that unknown facts about its CML don't count against it. */
  readonly isExpected: boolean
}

const PORTS = PORT_POOL.to - PORT_POOL.from + 1

export function freeCapacityOf(worker: Worker): FreeCapacity {
  const portsTaken = Object.values(worker.ports).reduce((sum, each) => sum + Object.keys(each).length, 0)
  return {
    worker,
    closed: closedBecause(worker),
    free: { ...freeOn(worker), ports: PORTS - portsTaken },
    score: scoreOf(worker),
    isExpected: false,
  }
}

/** The worker's capacity once it runs, serves and has its license. Without a seat of its license pool it gets none. */
export function expectedCapacity(worker: Worker): FreeCapacity {
  const serving = { status: 'RUNNING', service_status: 'AVAILABLE', desired_status: 'RUNNING' } as const
  return { ...freeCapacityOf({ ...licensed(worker), ...serving }), isExpected: true }
}

function licensed(worker: Worker): Worker {
  const isToRegister = worker.license.product !== null && !holds(worker.conditions, CONDITION.seatMissing)
  const status = isToRegister ? 'REGISTERED' : worker.license.status
  return { ...worker, license: { ...worker.license, status } }
}

function closedBecause(worker: Worker): Reason | null {
  const { status, service_status, desired_status, drain } = worker
  if (needsApproval(worker)) return approvalRequired(worker)
  if (status !== 'RUNNING') return reason('worker_status', { worker: null, status })
  if (service_status !== 'AVAILABLE') return reason('cml_status', { status: service_status })
  if (desired_status !== 'RUNNING') return reason('worker_desired_status', { worker: null, desired_status })
  if (drain !== null) return reason('worker_draining', { by: drain.by })
  return worker.cordoned ? reason('worker_cordoned') : null
}

/** How many nodes may run on the worker at once. */
export function nodesMax(worker: Worker): number {
  const declared = worker.capacity.declared?.max_nodes ?? 0
  if (worker.license.status !== 'REGISTERED') return Math.min(declared, FREE_NODES)
  return Math.min(declared, nodesOfProduct(worker.license.product) ?? declared)
}

/** How many nodes may run on the worker once it has its license. */
export const licensedNodes = (worker: Worker): number => nodesMax(licensed(worker))

/** The node limit, if it comes from the license rather than from the size of the machine. */
export function licenseLimit(worker: Worker): Pick<Shortage, 'node_limit' | 'license'> {
  const [most, declared] = [nodesMax(worker), worker.capacity.declared?.max_nodes ?? 0]
  if (most === declared) return NO_LIMIT
  const { status, product } = worker.license
  return { node_limit: most, license: status === 'REGISTERED' ? product : null }
}
export const NO_LIMIT: Pick<Shortage, 'node_limit' | 'license'> = { node_limit: null, license: null }

export function freeOn(worker: Worker): Omit<FreeResources, 'ports'> {
  const { declared, reserved } = worker.capacity
  return {
    cpu_cores: rounded((declared?.cpu_cores ?? 0) - reserved.cpu_cores),
    memory_gb: rounded((declared?.memory_gb ?? 0) - reserved.memory_gb),
    storage_gb: rounded(storageOf(declared) - reserved.storage_gb),
    nodes: nodesMax(worker) - reserved.nodes,
  }
}

/** An unknown size limits nothing; without any capacity there is none. */
const storageOf = (declared: Worker['capacity']['declared']): number =>
  declared === null ? 0 : (declared.storage_gb ?? Number.POSITIVE_INFINITY)

/** Rounds off the errors of decimal sums, which must neither refuse a session that fits nor accept one that does not. */
export const rounded = (sum: number): number => Math.round(sum * 1e6) / 1e6

const SESSION_WEIGHT = 0.01
const SESSIONS_WEIGHT_MAX = 0.05

export function scoreOf({ capacity: { declared, reserved }, reservations }: Worker): number {
  if (declared === null) return 0
  const use = (reserved.cpu_cores / declared.cpu_cores + reserved.memory_gb / declared.memory_gb) / 2
  return use + Math.min(SESSIONS_WEIGHT_MAX, SESSION_WEIGHT * Object.keys(reservations).length)
}
