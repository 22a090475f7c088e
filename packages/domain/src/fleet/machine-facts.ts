import type { RegionConfig } from '../template/worker-template.ts'
import type { Worker } from '../worker/worker.ts'
import type { DeclaredCapacity, Disk } from '../worker/worker-field-schemas.ts'
import { DISK_USD_PER_GB_MONTH, INSTANCE_TYPES } from './instance-types.ts'

/** Prices and sizes by region that replace the shipped ones. */
export type RegionFacts = Readonly<Record<string, Pick<RegionConfig, 'instance_types' | 'disk_usd_per_gb_month'>>>

/** A month of AWS price lists. */
const HOURS_PER_MONTH = 730
/** CML never boots a node that does not fit into memory, so a part is kept for the system and for CML itself. */
const MEMORY_KEPT_SHARE = 1 / 24
const MEMORY_KEPT_GB_MIN = 4
const NODES_PER_VCPU = 4

/** The worker with capacity and price of its machine where no template gives them, and with the price of its disk. */
export function withMachineFacts(worker: Worker, facts: RegionFacts = {}): Worker {
  const priced = { ...worker, disk: diskOf(worker, facts) }
  if (worker.origin !== 'DISCOVERY') return priced
  const { capacity, cost_per_hour_usd } = machineOf(worker, facts)
  return { ...priced, cost_per_hour_usd, capacity: { ...worker.capacity, declared: capacity } }
}

/** What labs may use of a machine, and its price. Both are null if its type is unknown. */
function machineOf(
  { instance_type, aws_region }: Pick<Worker, 'instance_type' | 'aws_region'>,
  facts: RegionFacts,
): { capacity: DeclaredCapacity | null; cost_per_hour_usd: number | null } {
  const name = instance_type ?? ''
  const { vcpus, memory_gb, cost_per_hour_usd } = {
    ...INSTANCE_TYPES.get(name),
    ...facts[aws_region]?.instance_types?.[name],
  }
  const kept_gb = Math.max(MEMORY_KEPT_GB_MIN, (memory_gb ?? 0) * MEMORY_KEPT_SHARE)
  const isSized = vcpus !== undefined && memory_gb !== undefined && memory_gb > kept_gb
  const capacity = isSized
    ? { cpu_cores: vcpus, memory_gb: memory_gb - kept_gb, storage_gb: null, max_nodes: vcpus * NODES_PER_VCPU }
    : null
  return { capacity, cost_per_hour_usd: cost_per_hour_usd ?? null }
}

/** The root volume that LCM launched; the disks of other machines are unknown. */
function diskOf({ launch, aws_region }: Worker, facts: RegionFacts): Disk | null {
  if (launch === null) return null
  const gb = launch.parameters.root_volume_gb
  return { gb, usd_per_hour: diskUsdPerHour(gb, diskUsdPerGbMonth(aws_region, facts)) }
}

export const diskUsdPerGbMonth = (aws_region: string, facts: RegionFacts): number =>
  facts[aws_region]?.disk_usd_per_gb_month ?? DISK_USD_PER_GB_MONTH

export const diskUsdPerHour = (gb: number, usdPerGbMonth: number): number => (gb * usdPerGbMonth) / HOURS_PER_MONTH
