import type { SettingValues } from '../fleet/settings.ts'
import { holdersOf, type Offer } from '../session/decide-scale-up.ts'
import { expectedCapacity } from '../session/free-capacity.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import type { Worker } from '../worker/worker.ts'
import type { Capacity } from './capacity-profile.ts'
import { choiceOf, type MachineChoice, type MachineOffer } from './promised-machine.ts'

export interface CapacityFacts {
  readonly workers: readonly Worker[]
  readonly templates: readonly WorkerTemplate[]
  readonly settings: Pick<SettingValues, 'scale_up_enabled' | 'max_workers_per_region'>
  /** Where new workers are bought. */
  readonly region: string
  /** By product: how many licenses are left for new workers. Absent products are not limited. */
  readonly freeLicenses: ReadonlyMap<string, number>
  readonly nowMs: number
}

/** The machines that promises may rely on: workers that serve or can be started, then those that may still be bought. */
export function capacityOf(facts: CapacityFacts): Capacity {
  const { settings, region } = facts
  const holders = holdersOf(facts)
  const workers = holders.hosts
    .filter(({ closed }) => closed === null)
    .map((capacity): MachineOffer => ({ key: capacity.worker.id, choices: [choiceOf(capacity)] }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  const toBuy = holders.offers.length === 0 ? 0 : vacancies(facts)
  const bought = Array.from(
    { length: toBuy },
    (_, n): MachineOffer => ({
      key: `new-${n + 1}`,
      choices: holders.offers.map(offer => purchaseOf(offer, n, facts.freeLicenses)),
    }),
  )
  return {
    machines: [...workers, ...bought],
    holders,
    region,
    workersMax: settings.max_workers_per_region,
    isScaleUpOn: settings.scale_up_enabled,
  }
}

/** A machine that is being terminated leaves in time for another one. */
function vacancies({ workers, region, settings }: CapacityFacts): number {
  if (!settings.scale_up_enabled) return 0
  const present = workers.filter(
    ({ aws_region, status }) => aws_region === region && status !== 'TERMINATED' && status !== 'TERMINATING',
  )
  return Math.max(0, settings.max_workers_per_region - present.length)
}

/** The n-th machine that is bought has no license when the pool is empty by then. */
function purchaseOf({ capacity }: Offer, n: number, freeLicenses: ReadonlyMap<string, number>): MachineChoice {
  const { worker } = capacity
  const free = worker.license.product === null ? undefined : freeLicenses.get(worker.license.product)
  if (free === undefined || n < free) return choiceOf(capacity)
  const unlicensed = { ...worker.license, product: null, status: 'UNREGISTERED' as const }
  return choiceOf(expectedCapacity({ ...worker, license: unlicensed }))
}
