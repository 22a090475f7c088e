import { AS_PLANNED, type LedgerTime } from '../calendar/worker-ledger.ts'
import type { LabNeeds } from '../lab/topology.ts'
import { type Reason, reason } from '../reason.ts'
import type { Shortage } from '../text/reasons/placement-reasons.ts'
import type { Worker } from '../worker/worker.ts'
import type { Demand } from './demand.ts'
import {
  type FreeCapacity,
  type FreeResources,
  freeCapacityOf,
  freeOver,
  licenseLimit,
  NO_LIMIT,
} from './free-capacity.ts'

export const REFUSALS = ['status', 'license', 'capacity', 'cml_version', 'node_definitions', 'ports'] as const
export type RefusalCategory = (typeof REFUSALS)[number]

export interface Refusal {
  readonly worker_id: string
  readonly category: RefusalCategory
  readonly because: Reason
}

export interface Candidate {
  readonly worker_id: string
  readonly score: number
  /** Shares of cpu and memory that are reserved, before and after. */
  readonly before: { readonly cpu: number; readonly memory: number }
  readonly after: { readonly cpu: number; readonly memory: number }
}

export interface Placement {
  /** Best first. */
  readonly candidates: readonly Candidate[]
  readonly refusals: readonly Refusal[]
}

/** Every worker is a candidate or refused with a reason. Full workers come first: an empty one can be stopped. */
export function place(demand: Demand, workers: readonly Worker[], time: LedgerTime = AS_PLANNED): Placement {
  const fitting: FreeCapacity[] = []
  const refusals: Refusal[] = []
  for (const capacity of workers.map(worker => freeCapacityOf(worker, time))) {
    const refusal = refusalOf(demand, capacity)
    if (refusal === null) fitting.push(capacity)
    else refusals.push({ worker_id: capacity.worker.id, category: refusal.category, because: refusal.because() })
  }
  return { candidates: fitting.sort(byRank).map(capacity => candidateOf(demand, capacity)), refusals }
}

/** The first candidate of `place`. */
export function bestOf(demand: Demand, capacities: Iterable<FreeCapacity>): FreeCapacity | null {
  let best: FreeCapacity | null = null
  for (const capacity of capacities)
    if ((best === null || byRank(capacity, best) < 0) && refusalOf(demand, capacity) === null) best = capacity
  return best
}

const byRank = (a: FreeCapacity, b: FreeCapacity): number => b.score - a.score || (a.worker.id < b.worker.id ? -1 : 1)

function candidateOf({ needs }: Demand, { worker, score }: FreeCapacity): Candidate {
  const { declared, reserved } = worker.capacity
  const use = (cpu: number, memory: number) => ({
    cpu: cpu / (declared?.cpu_cores ?? cpu),
    memory: memory / (declared?.memory_gb ?? memory),
  })
  return {
    worker_id: worker.id,
    score,
    before: use(reserved.cpu_cores, reserved.memory_gb),
    after: use(reserved.cpu_cores + needs.cpu_cores, reserved.memory_gb + needs.memory_gb),
  }
}

export interface WorkerRefusal extends Pick<Refusal, 'category'> {
  /** Makes the reason when it is needed: a cycle refuses every session on many workers and shows few of the reasons. */
  readonly because: () => Reason
  /** The numbers behind the reason, where capacity is short. */
  readonly shortage: Shortage | null
}
const refuse = (category: RefusalCategory, because: () => Reason, shortage: Shortage | null = null): WorkerRefusal => ({
  category,
  because,
  shortage,
})

/** The first filter that refuses the worker; null if all accept it. */
export const refusalOf = (demand: Demand, capacity: FreeCapacity): WorkerRefusal | null =>
  refusedByStatus(capacity) ??
  refusedByLicense(demand, capacity) ??
  refusedByCapacity(demand, capacity) ??
  refusedByCml(demand, capacity) ??
  refusedByPorts(demand, capacity)

const refusedByStatus = ({ closed }: FreeCapacity): WorkerRefusal | null =>
  closed === null ? null : refuse('status', () => closed)

function refusedByLicense(
  { license_affinity: wanted }: Demand,
  { worker: { license } }: FreeCapacity,
): WorkerRefusal | null {
  if (wanted.length === 0 || (license.status === 'REGISTERED' && wanted.includes(license.product ?? ''))) return null
  const registered = license.status === 'REGISTERED'
  const params = { registered, license: registered ? license.product : null, needed: wanted }
  return refuse('license', () => reason('license_mismatch', params))
}

function refusedByCapacity(
  { needs, span }: Demand,
  { worker, free: always, calendar }: FreeCapacity,
): WorkerRefusal | null {
  if (worker.capacity.declared === null) return refuse('capacity', () => reason('capacity_unknown'))
  if (shortageOf(needs, always, worker) === null) return null
  return shortageOf(needs, freeOver(calendar, span), worker)
}

function shortageOf(needs: LabNeeds, free: FreeResources, worker: Worker): WorkerRefusal | null {
  return (
    shortOf('memory_gb', needs.memory_gb, free.memory_gb) ??
    shortOf('cpu_cores', needs.cpu_cores, free.cpu_cores) ??
    shortOf('storage_gb', needs.storage_gb, free.storage_gb) ??
    shortOf('nodes', needs.node_count, free.nodes, licenseLimit(worker))
  )
}

function shortOf(
  resource: Shortage['resource'],
  needed: number,
  free: number,
  limit: Pick<Shortage, 'node_limit' | 'license'> = NO_LIMIT,
): WorkerRefusal | null {
  if (needed <= free) return null
  const shortage = { resource, needed, free: Math.max(0, Math.round(free * 100) / 100), ...limit }
  return refuse('capacity', () => reason('insufficient_capacity', { workers: 1, ...shortage }), shortage)
}

function refusedByCml(
  { cml_version: { min, max }, node_definitions }: Demand,
  capacity: FreeCapacity,
): WorkerRefusal | null {
  const { version, node_definitions: known } = capacity.worker.cml
  if (version === null) {
    if ((min !== null || max !== null) && !capacity.isExpected)
      return refuse('cml_version', () => reason('cml_version_unknown'))
  } else {
    if (min !== null && compareVersions(version, min) < 0)
      return refuse('cml_version', () => reason('cml_version_too_old', { version, min }))
    if (max !== null && compareVersions(version, max) > 0)
      return refuse('cml_version', () => reason('cml_version_too_new', { version, max }))
  }
  const asked = node_definitions.filter(each => !BUILT_IN.has(each))
  if (!isRead(capacity.worker))
    return asked.length === 0 || capacity.isExpected
      ? null
      : refuse('node_definitions', () => reason('node_definitions_unknown'))
  const missing = asked.filter(each => !known.includes(each))
  return missing.length === 0 ? null : refuse('node_definitions', () => reason('node_definitions_missing', { missing }))
}

/** Node definitions that need no image and are part of every CML. */
const BUILT_IN: ReadonlySet<string> = new Set(['external_connector', 'unmanaged_switch'])

/** Whether the node definitions of the worker are known. Without them a missing one would show only when a lab is started. */
export const isRead = ({ cml }: Worker): boolean => cml.node_definitions.length > 0

/** Compares as many numbers as the bound has: 2.10 comes after 2.9, and 2.9.1+build.7 equals 2.9. */
export function compareVersions(version: string, bound: string): number {
  const has = version.split('.')
  for (const [index, wanted] of bound.split('.').entries()) {
    const difference = (Number.parseInt(has[index] ?? '', 10) || 0) - Number(wanted)
    if (difference !== 0) return difference
  }
  return 0
}

function refusedByPorts({ ports }: Demand, { free }: FreeCapacity): WorkerRefusal | null {
  return ports <= free.ports
    ? null
    : refuse('ports', () => reason('insufficient_ports', { needed: ports, free: free.ports }))
}
