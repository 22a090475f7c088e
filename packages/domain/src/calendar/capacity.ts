import type { SpendingFacts } from '../fleet/budget.ts'
import type { SettingValues } from '../fleet/settings.ts'
import { type FreeSeats, freeSeatsFor } from '../license/license-pool.ts'
import { holdersOf, type Offer } from '../session/decide-scale-up.ts'
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
  readonly licenses: FreeSeats
  readonly nowMs: number
  readonly spending: SpendingFacts | null
}

/** What may remove capacity from promises. */
export interface CapacityChange {
  readonly settings: CapacityFacts['settings']
  /** Names of templates that are disabled or deleted. */
  readonly removed_templates: readonly string[]
  /** Workers that are cordoned, drained or stopped: they take no sessions, and no other worker may be bought instead. */
  readonly closed_workers: readonly string[]
  readonly terminated_workers: readonly string[]
  readonly licenses: FreeSeats
}

/** What the capacity would be computed from after the change. */
export function changedFacts(facts: CapacityFacts, change: CapacityChange): CapacityFacts {
  const { settings, licenses } = change
  const [removed, closed, terminated] = [
    new Set(change.removed_templates),
    new Set(change.closed_workers),
    new Set(change.terminated_workers),
  ]
  return {
    ...facts,
    workers: facts.workers
      .filter(({ id }) => !terminated.has(id))
      .map(worker => (closed.has(worker.id) ? { ...worker, cordoned: true } : worker)),
    templates: facts.templates.filter(({ name }) => !removed.has(name)),
    settings,
    licenses,
  }
}

/** The machines that promises may rely on: workers that serve or can be started, then those that may still be bought. */
export function capacityOf(facts: CapacityFacts): Capacity {
  const { settings, region } = facts
  const holders = holdersOf(facts)
  const workers = holders.hosts
    .filter(({ closed }) => closed === null)
    .map((capacity): MachineOffer => ({ key: capacity.worker.id, isWorker: true, choices: [choiceOf(capacity)] }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  const toBuy = holders.offers.length === 0 ? 0 : vacancies(facts)
  const choices = purchases(holders.offers, facts.licenses)
  const bought = Array.from(
    { length: toBuy },
    (_, n): MachineOffer => ({ key: `new-${n + 1}`, isWorker: false, choices: choices(n) }),
  ).filter(offer => offer.choices.length > 0)
  return {
    machines: [...workers, ...bought],
    holders,
    region,
    workersMax: settings.max_workers_per_region,
    isScaleUpOn: settings.scale_up_enabled,
    missingLicense: bought.length < toBuy ? (holders.offers[0]?.template.license_product ?? null) : null,
    spending: facts.spending,
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

/** The choices of the n-th machine to buy: none is bought without a free seat of its license pool. Equal ones are the same array. */
function purchases(offers: readonly Offer[], licenses: FreeSeats): (n: number) => readonly MachineChoice[] {
  const known = new Map<string, readonly MachineChoice[]>()
  const isLicensed = ({ capacity: { worker } }: Offer, n: number) => n < freeSeatsFor(worker.license.product, licenses)
  return n => {
    const licensed = offers.filter(offer => isLicensed(offer, n))
    const key = licensed.map(({ template }) => template.id).join()
    const choices = known.get(key) ?? licensed.map(({ capacity }) => choiceOf(capacity))
    known.set(key, choices)
    return choices
  }
}
