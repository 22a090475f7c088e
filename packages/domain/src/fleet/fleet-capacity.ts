import { rounded } from '../calendar/worker-ledger.ts'
import { freeCapacityOf } from '../session/free-capacity.ts'
import type { Worker } from '../worker/worker.ts'

export interface CapacityAmounts {
  readonly cpu_cores: number
  readonly memory_gb: number
  readonly storage_gb: number
  readonly nodes: number
}

export interface FleetCapacity {
  /** The size of the running machines. */
  readonly declared: CapacityAmounts
  /** What sessions can have: their reservations, and what is free on workers that accept sessions, within license limits. */
  readonly usable: CapacityAmounts
  readonly reserved: CapacityAmounts
  /** Workers whose machine runs and that accept no sessions now. */
  readonly closed_workers: number
}

export const CAPACITY_KINDS = [
  'cpu_cores',
  'memory_gb',
  'storage_gb',
  'nodes',
] as const satisfies readonly (keyof CapacityAmounts)[]

/** The capacity of the fleet by the limits that placement applies, so that both always agree. */
export function fleetCapacity(workers: Iterable<Worker>): FleetCapacity {
  const declared = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 }
  const usable = { ...declared }
  const reserved = { ...declared }
  let closed_workers = 0
  for (const worker of workers) {
    if (worker.status !== 'RUNNING' && worker.status !== 'DRAINING') continue
    const { closed, free } = freeCapacityOf(worker)
    if (closed !== null || worker.capacity.declared === null) closed_workers += 1
    for (const kind of CAPACITY_KINDS) {
      // A use without a known size would look like a full disk.
      if (!Number.isFinite(free[kind])) continue
      const size = worker.capacity.declared?.[kind === 'nodes' ? 'max_nodes' : kind] ?? 0
      const held = worker.capacity.reserved[kind]
      declared[kind] = rounded(declared[kind] + size)
      reserved[kind] = rounded(reserved[kind] + held)
      const left = closed === null ? Math.max(0, free[kind]) : 0
      usable[kind] = rounded(usable[kind] + held + left)
    }
  }
  return { declared, usable, reserved, closed_workers }
}
