import { emptied } from '../calendar/worker-ledger.ts'
import { toMs } from '../instant.ts'
import { type FreeSeats, freeSeatsFor, NO_POOLS } from '../license/license-pool.ts'
import { type Reason, reason } from '../reason.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import { type Worker, workerOfTemplate } from '../worker/worker.ts'
import { isResumable, WORKER_BOOT_MS } from './decide-capacity-wait.ts'
import type { Demand } from './demand.ts'
import { expectedCapacity, type FreeCapacity, filled } from './free-capacity.ts'
import { type RefusalCategory, refusalOf, type WorkerRefusal } from './placement.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-types.ts'
import { movedAt } from './session-health.ts'
import { type CapacityByWorker, capacitiesFor, type Waiting } from './waiting-session.ts'

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

/** One machine to buy, and the sessions that it is for. */
interface Bin {
  readonly offer: Offer
  capacity: FreeCapacity
  readonly waiting: Waiting[]
}

interface Packing {
  readonly bins: readonly Bin[]
  readonly unfit: readonly Waiting[]
  /** Sessions whose machine would have no license, with the cheapest template that fits. */
  readonly unlicensed: readonly { readonly waiting: Waiting; readonly template: WorkerTemplate }[]
}

/**
 * First fit: into a machine that is bought anyway, else into one more of the cheapest that can hold it. A machine is bought only
 * with a free seat of its license pool.
 */
function packed(left: readonly Waiting[], offers: readonly Offer[], licenses: FreeSeats): Packing {
  const bins: Bin[] = []
  const unfit: Waiting[] = []
  const unlicensed: { waiting: Waiting; template: WorkerTemplate }[] = []
  for (const waiting of left) {
    const fitting = offers.filter(({ capacity }) => refusalOf(waiting.demand, capacity) === null)
    const [cheapest] = fitting
    const bin = fitting.map(offer => binOf(waiting.demand, offer, bins, licenses)).find(each => each !== null) ?? null
    if (cheapest === undefined) unfit.push(waiting)
    else if (bin === null) unlicensed.push({ waiting, template: cheapest.template })
    else {
      if (!bins.includes(bin)) bins.push(bin)
      bin.capacity = filled(bin.capacity, waiting.demand, NEVER)
      bin.waiting.push(waiting)
    }
  }
  return { bins, unfit, unlicensed }
}

/**
 * The cheapest templates first. If the region may not have so many workers, another template comes first where more sessions then get
 * a machine: capacity may have been promised for large machines.
 */
function packedWithin(
  most: number,
  left: readonly Waiting[],
  { offers, licenses }: { offers: readonly Offer[]; licenses: FreeSeats },
): Packing {
  const served = ({ bins }: Packing) => bins.slice(0, most).reduce((sum, { waiting }) => sum + waiting.length, 0)
  let best = packed(left, offers, licenses)
  if (best.bins.length <= most) return best
  for (const offer of offers) {
    const other = packed(left, [offer, ...offers.filter(each => each !== offer)], licenses)
    if (served(other) > served(best)) best = other
  }
  return best
}

/** Null without a free seat. */
function binOf(demand: Demand, offer: Offer, bins: readonly Bin[], licenses: FreeSeats): Bin | null {
  const known = bins.find(each => each.offer === offer && refusalOf(demand, each.capacity) === null)
  if (known !== undefined) return known
  const product = offer.template.license_product
  const used = bins.filter(each => each.offer.template.license_product === product).length
  return used < freeSeatsFor(product, licenses) ? { offer, capacity: offer.capacity, waiting: [] } : null
}

/** Decides what to buy for the sessions that need a new machine, and the waiting reason of each. */
export function purchases(
  left: readonly Waiting[],
  capacities: CapacityByWorker,
  input: SchedulingInput,
): SchedulingStep[] {
  if (left.length === 0) return []
  const holders = holdersOf(input)
  const tooLate = new Set(left.filter(each => isTooLate(each, input)))
  const inTime = left.filter(each => !tooLate.has(each))
  const refusal = refusalToBuy(input)
  const most = refusal === null ? vacancies(input) : 0
  const parts = { offers: holders.offers, licenses: input.licenses ?? NO_POOLS }
  const { bins, unfit, unlicensed } = packedWithin(most, inTime, parts)
  const granted = bins.slice(0, most)
  const limit =
    refusal ?? reason('region_worker_limit', { region: input.region, limit: input.settings.max_workers_per_region })
  const wait = ({ session }: Waiting, because: Reason, forGood: boolean): SchedulingStep => ({
    kind: 'wait',
    session,
    because,
    forGood,
  })
  const noCapacity = (each: Waiting, scale_up: Reason) =>
    wait(each, reason('no_capacity', { cause: refusalBy(each, capacities), scale_up }), false)
  return [
    ...[...tooLate].map(each => noCapacity(each, reason('new_worker_too_late', { minutes: WORKER_BOOT_MS / 60_000 }))),
    ...unfit.map(each => {
      const host = hostOf(each.demand, holders)
      if (host === null) return wait(each, whyNowhere(each.demand, holders), true)
      const cause = whyNoneOf(holders.offers, each.demand)
      return wait(each, reason('waiting_for_capacity', { worker: host.worker.name, cause }), false)
    }),
    ...unlicensed.map(({ waiting, template }) =>
      noCapacity(
        waiting,
        reason('license_pool_exhausted', { template: template.name, product: template.license_product ?? '' }),
      ),
    ),
    ...bins.flatMap((bin, index) => {
      const template = bin.offer.template.name
      const scale_up = index < granted.length ? reason('scale_up_requested', { template }) : limit
      return bin.waiting.map(each => noCapacity(each, scale_up))
    }),
    ...scaleUpSteps(granted, input.region),
  ]
}

/** The timeslot of a session that lost its lab may be over before a new machine is ready. */
const isTooLate = ({ session }: Waiting, { nowMs }: SchedulingInput): boolean =>
  movedAt(session) !== null && toMs(session.timeslot.end) - nowMs <= WORKER_BOOT_MS

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

const refusalToBuy = ({ settings }: SchedulingInput): Reason | null =>
  settings.scale_up_enabled ? null : reason('scale_up_disabled')

/** How many more workers the region may have. A request for more is refused as a whole. */
const vacancies = ({ workers, region, settings }: SchedulingInput): number => {
  const present = workers.filter(({ aws_region, status }) => aws_region === region && status !== 'TERMINATED').length
  return Math.max(0, settings.max_workers_per_region - present)
}

/** One purchase per template and hour: a purchase never waits for one of another hour. */
function scaleUpSteps(bins: readonly Bin[], aws_region: string): SchedulingStep[] {
  const groups = new Map<string, Bin[]>()
  for (const bin of bins) {
    const key = `${bin.offer.template.name} ${hourOf(bin)}`
    groups.set(key, [...(groups.get(key) ?? []), bin])
  }
  return [...groups.values()].flatMap(ours => {
    const [first] = ours
    if (first === undefined) return []
    const session_ids = ours.flatMap(({ waiting }) => waiting.map(({ session }) => session.id))
    const because = reason('no_capacity_for_sessions', { sessions: session_ids.length })
    const template_name = first.offer.template.name
    return [
      { kind: 'scale_up', template_name, aws_region, group: hourOf(first), count: ours.length, session_ids, because },
    ]
  })
}

/** The hour of its first session, as in `2026-01-02T09`. */
const hourOf = ({ waiting }: Bin): string =>
  waiting
    .reduce((first, { session }) => (session.timeslot.start < first ? session.timeslot.start : first), '~')
    .slice(0, 13)

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
