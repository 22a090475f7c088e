import { PORT_POOL } from '../lab/ports.ts'
import { lacksLogin } from '../worker/trust.ts'
import type { Worker } from '../worker/worker.ts'

export interface Free {
  readonly cpu_cores: number
  readonly memory_gb: number
  readonly storage_gb: number
  readonly nodes: number
  readonly ports: number
}

/** What placement asks of a worker, worked out once: a cycle asks every worker about every session. */
export interface Room {
  readonly worker: Worker
  /** Why nothing new may be placed on it; null when something may. */
  readonly closed: string | null
  readonly free: Free
  /** How full it is; the fullest that fits is taken. */
  readonly score: number
  /** It does not serve yet, so what nobody can know of its CML is not held against it. */
  readonly isExpected: boolean
}

const PORTS = PORT_POOL.to - PORT_POOL.from + 1

export function roomOf(worker: Worker): Room {
  const portsTaken = Object.values(worker.ports).reduce((sum, each) => sum + Object.keys(each).length, 0)
  return {
    worker,
    closed: closedBecause(worker),
    free: { ...freeOn(worker), ports: PORTS - portsTaken },
    score: scoreOf(worker),
    isExpected: false,
  }
}

/** A worker's room as it will be when it runs, serves and has the license that it is meant to have. */
export function expectedRoom(worker: Worker): Room {
  const status = worker.license.product === null ? worker.license.status : 'REGISTERED'
  const license = { ...worker.license, status }
  const serving = { status: 'RUNNING', service_status: 'AVAILABLE', desired_status: 'RUNNING' } as const
  return { ...roomOf({ ...worker, ...serving, license }), isExpected: true }
}

function closedBecause(worker: Worker): string | null {
  if (worker.status !== 'RUNNING') return `it is ${worker.status}`
  if (worker.service_status !== 'AVAILABLE') return `its CML is ${worker.service_status}`
  if (worker.desired_status !== 'RUNNING') return `it is wanted ${worker.desired_status}`
  if (worker.drain !== null) return `${worker.drain.by} drains it`
  if (lacksLogin(worker)) return 'LCM has no login for its CML'
  return worker.cordoned ? 'it is cordoned' : null
}

/** Nodes that run without a license, and what the products include: Enterprise has no more unless they are bought apart. */
const FREE_NODES = 5
const LICENSED_NODES: Readonly<Record<string, number>> = {
  CML_Personal: 20,
  CML_Personal40: 40,
  CML_Enterprise: 20,
  CML_Education: 20,
  CML_Internal: 20,
  CML_NotForResale: 20,
}

/** How many nodes may run on it at once. */
export function nodesMax(worker: Worker): number {
  const declared = worker.capacity.declared?.max_nodes ?? 0
  if (worker.license.status !== 'REGISTERED') return Math.min(declared, FREE_NODES)
  return Math.min(declared, LICENSED_NODES[worker.license.product ?? ''] ?? declared)
}

/** Words for what its license, and not its size, keeps it from. */
export function whyFewNodes(worker: Worker): string {
  const [most, declared] = [nodesMax(worker), worker.capacity.declared?.max_nodes ?? 0]
  if (most === declared) return ''
  const { status, product } = worker.license
  return status === 'REGISTERED'
    ? `: with ${product} only ${most} nodes run`
    : `: without a license only ${most} nodes run`
}

export function freeOn(worker: Worker): Omit<Free, 'ports'> {
  const { declared, reserved } = worker.capacity
  return {
    cpu_cores: rounded((declared?.cpu_cores ?? 0) - reserved.cpu_cores),
    memory_gb: rounded((declared?.memory_gb ?? 0) - reserved.memory_gb),
    storage_gb: rounded((declared?.storage_gb ?? 0) - reserved.storage_gb),
    nodes: nodesMax(worker) - reserved.nodes,
  }
}

/** Sums of decimals miss by a hair, and a hair must neither refuse what fits nor let in what does not. */
export const rounded = (sum: number): number => Math.round(sum * 1e6) / 1e6

const SESSION_WEIGHT = 0.01
const SESSIONS_WEIGHT_MAX = 0.05

export function scoreOf({ capacity: { declared, reserved }, reservations }: Worker): number {
  if (declared === null) return 0
  const use = (reserved.cpu_cores / declared.cpu_cores + reserved.memory_gb / declared.memory_gb) / 2
  return use + Math.min(SESSIONS_WEIGHT_MAX, SESSION_WEIGHT * Object.keys(reservations).length)
}
