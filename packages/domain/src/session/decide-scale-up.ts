import { emptied } from '../calendar/worker-ledger.ts'
import { toMs } from '../instant.ts'
import type { PlannedMachine } from '../plan/plan.ts'
import { type Reason, reason } from '../reason.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import { type Worker, workerOfTemplate } from '../worker/worker.ts'
import { isResumable } from './decide-capacity-wait.ts'
import type { Demand } from './demand.ts'
import { expectedCapacity, type FreeCapacity } from './free-capacity.ts'
import { type RefusalCategory, refusalOf, type WorkerRefusal } from './placement.ts'
import type { SchedulingInput } from './scheduling-types.ts'
import { type CapacityByWorker, capacitiesFor, type Waiting } from './waiting-session.ts'

const MINUTE_MS = 60_000
const NEVER = '1970-01-01T00:00:00.000Z'

/** A template, and the capacity of a new worker of it. */
export interface Offer {
  readonly template: WorkerTemplate
  readonly capacity: FreeCapacity
}

/** The enabled templates, the cheapest first. A new worker is expected to have the CML of the newest one of the same template. */
export function offersOf(templates: readonly WorkerTemplate[], workers: readonly Worker[]): Offer[] {
  const newest = new Map<string, Worker>()
  for (const worker of workers) {
    const before = newest.get(worker.template_name)
    if (worker.cml.version !== null && (before === undefined || worker.created_at > before.created_at))
      newest.set(worker.template_name, worker)
  }
  return templates
    .filter(({ enabled }) => enabled)
    .toSorted((a, b) => a.cost_per_hour_usd - b.cost_per_hour_usd || (a.name < b.name ? -1 : 1))
    .map(template => ({ template, capacity: newWorkerCapacity(template, newest.get(template.name)) }))
}

/** A worker that is older than the last change of the template is no example for new ones. */
function newWorkerCapacity(template: WorkerTemplate, sibling: Worker | undefined): FreeCapacity {
  const fresh = workerOfTemplate(`new-${template.name}`, template, NEVER)
  const isCurrent = sibling !== undefined && sibling.created_at >= template.updated_at
  return expectedCapacity(isCurrent ? { ...fresh, cml: sibling.cml } : fresh)
}

export const cheapestFitting = (demand: Demand, offers: readonly Offer[]): Offer | null =>
  offers.find(({ capacity }) => refusalOf(demand, capacity) === null) ?? null

/** Facts about a session that no worker takes now. */
interface Unplaced {
  /** The machine that is bought for it; null if none is. */
  readonly machine: PlannedMachine | null
  /** Why no machine of the plan holds it; null if the plan does not know. */
  readonly because: Reason | null
  readonly holders: Holders
  readonly capacities: CapacityByWorker
  readonly input: SchedulingInput
}

/** Why a session waits although no machine starts for it, or while one is bought. `forGood`: no machine could ever hold it. */
export function whyUnplaced(
  waiting: Waiting,
  { machine, because, holders, capacities, input }: Unplaced,
): { because: Reason; forGood: boolean } {
  const { demand } = waiting
  const noCapacity = (scale_up: Reason) => ({
    because: reason('no_capacity', { cause: refusalBy(waiting, capacities), scale_up }),
    forGood: false,
  })
  if (machine !== null) return noCapacity(reason('scale_up_requested', { template: machine.template_name }))
  const offer = cheapestFitting(demand, holders.offers)
  if (offer === null) {
    const host = hostOf(demand, holders)
    if (host === null) return { because: whyNowhere(demand, holders), forGood: true }
    const cause = whyNoneOf(holders.offers, demand)
    return { because: reason('waiting_for_capacity', { worker: host.worker.name, cause }), forGood: false }
  }
  const isWithoutSeat = because?.code === 'plan_no_license_free'
  return noCapacity(
    (isWithoutSeat ? noSeatFor(offer) : whyNotBought(waiting, offer, input)) ?? because ?? limitOf(input),
  )
}

const noSeatFor = ({ template: { name, license_product } }: Offer): Reason =>
  reason('license_pool_exhausted', { template: name, product: license_product ?? '' })

/** Why no machine is bought for a session that would fit on one; null if there is no general cause. */
function whyNotBought({ session }: Waiting, { template }: Offer, input: SchedulingInput): Reason | null {
  if (!input.settings.scale_up_enabled) return reason('scale_up_disabled')
  if (vacancies(input) === 0) return limitOf(input)
  const bootMs = input.timings.firstBootMs(template.name).wakeMs
  const minutes = Math.round(bootMs / MINUTE_MS)
  return toMs(session.timeslot.end) - input.nowMs > bootMs ? null : reason('new_worker_too_late', { minutes })
}

const limitOf = ({ region, settings }: SchedulingInput): Reason =>
  reason('region_worker_limit', { region, limit: settings.max_workers_per_region })

/** Everything that could hold a session, now or later: new workers of the templates, and the existing ones without any session. */
export interface Holders {
  readonly offers: readonly Offer[]
  /** Workers that serve, boot or can be started: a session that would fit there waits for capacity. */
  readonly hosts: readonly FreeCapacity[]
}

export const holdersOf = ({
  templates,
  workers,
  nowMs,
}: Pick<SchedulingInput, 'templates' | 'workers' | 'nowMs'>): Holders => ({
  offers: offersOf(templates, workers),
  hosts: workers.filter(worker => isToServe(worker, nowMs)).map(worker => expectedCapacity(emptied(worker))),
})

const hostOf = (demand: Demand, { hosts }: Holders): FreeCapacity | null =>
  hosts.find(capacity => refusalOf(demand, capacity) === null) ?? null

/** Why a session could be placed nowhere, even if nothing else ran; null if it could. */
export const fitsNowhereBecause = (demand: Demand, holders: Holders): Reason | null =>
  cheapestFitting(demand, holders.offers) !== null || hostOf(demand, holders) !== null
    ? null
    : reason('lab_fits_nowhere', { cause: whyNowhere(demand, holders) })

/** The workers are the reason only where there is no template to compare with. */
function whyNowhere(demand: Demand, { offers, hosts }: Holders): Reason {
  const refusal = whyNoneOf(offers, demand)
  const cause = offers.length === 0 ? mainRefusal(demand, hosts) : null
  return cause === null ? refusal : reason('scale_up_refused', { cause, refusal })
}

const isToServe = (worker: Worker, nowMs: number): boolean =>
  !GOING.has(worker.status) &&
  worker.license.pending_operation !== 'deregister' &&
  (worker.desired_status === 'RUNNING' || isResumable(worker, nowMs))
const GOING: ReadonlySet<Worker['status']> = new Set(['FAILED', 'TERMINATING', 'TERMINATED'])

/** How many more workers the region may have. A request for more is refused as a whole. */
const vacancies = ({ workers, region, settings }: SchedulingInput): number => {
  const present = workers.filter(({ aws_region, status }) => aws_region === region && status !== 'TERMINATED').length
  return Math.max(0, settings.max_workers_per_region - present)
}

const refusalBy = (waiting: Waiting, capacities: CapacityByWorker): Reason =>
  mainRefusal(waiting.demand, capacitiesFor(waiting, capacities)) ??
  reason(capacities.size === 0 ? 'no_workers' : 'no_other_workers')

/** Why most workers refuse a session; null without workers. Of those without capacity, the best one is described. */
function mainRefusal(demand: Demand, capacities: Iterable<FreeCapacity>): Reason | null {
  const groups = new Map<RefusalCategory, WorkerRefusal[]>()
  for (const capacity of capacities) {
    const refusal = refusalOf(demand, capacity)
    if (refusal === null) continue
    const group = groups.get(refusal.category)
    if (group === undefined) groups.set(refusal.category, [refusal])
    else group.push(refusal)
  }
  const [largest] = [...groups.values()].toSorted((a, b) => b.length - a.length)
  const last = largest?.at(-1)
  if (largest === undefined || last === undefined) return null
  const workers = largest.length
  if (workers === 1) return last.because()
  const { shortage } = largest.reduce((best, each) => (freeShare(each) > freeShare(best) ? each : best))
  return shortage === null
    ? reason('workers_refuse', { workers, category: last.category, cause: last.because() })
    : reason('insufficient_capacity', { workers, ...shortage })
}

const freeShare = ({ shortage }: WorkerRefusal): number => (shortage === null ? -1 : shortage.free / shortage.needed)

const TEMPLATES_MAX = 3

function whyNoneOf(offers: readonly Offer[], demand: Demand): Reason {
  if (offers.length === 0) return reason('no_template_enabled')
  const causes = offers.slice(-TEMPLATES_MAX).flatMap(({ template, capacity }) => {
    const refusal = refusalOf(demand, capacity)
    return refusal === null ? [] : [reason('template_refused', { template: template.name, cause: refusal.because() })]
  })
  return reason('no_template_fits', { causes })
}
