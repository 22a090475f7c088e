import type { WorkerTemplate } from '../template/worker-template.ts'
import { workerOfTemplate } from '../worker/new-worker.ts'
import type { Worker } from '../worker/worker.ts'
import { isResumable } from './capacity-shortage.ts'
import { type Demand, emptied, filled, placeIn, refusalOf } from './placement.ts'
import { expectedRoom, type Room } from './room.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-step.ts'
import { countedSessions, type Rooms, roomsFor, type Waiting } from './waiting.ts'

const NEVER = '1970-01-01T00:00:00.000Z'

/** A template, and what a worker fresh from it has to offer. */
export interface Offer {
  readonly template: WorkerTemplate
  readonly room: Room
}

/** What can be bought, the cheapest first. What CML a new worker will have is told by the newest of the same template. */
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
    .map(template => ({ template, room: freshRoom(template, newest.get(template.name)) }))
}

/** One that is older than the template's last change says nothing of what that makes by now. */
function freshRoom(template: WorkerTemplate, sibling: Worker | undefined): Room {
  const fresh = workerOfTemplate(`new-${template.name}`, template, NEVER)
  const isTelling = sibling !== undefined && sibling.created_at >= template.updated_at
  return expectedRoom(isTelling ? { ...fresh, cml: sibling.cml } : fresh)
}

export const cheapestFitting = (demand: Demand, offers: readonly Offer[]): Offer | null =>
  offers.find(({ room }) => refusalOf(demand, room) === null) ?? null

/** One machine that is to be bought, and for whom. */
interface Bin {
  readonly offer: Offer
  room: Room
  readonly waiting: Waiting[]
}

/** First fit: into a machine that is bought anyway, else into one more of the cheapest that can hold it. */
export function packed(left: readonly Waiting[], offers: readonly Offer[]): { bins: Bin[]; unfit: Waiting[] } {
  const bins: Bin[] = []
  const unfit: Waiting[] = []
  for (const waiting of left) {
    const { demand } = waiting
    const offer = cheapestFitting(demand, offers)
    if (offer === null) {
      unfit.push(waiting)
      continue
    }
    let bin = bins.find(each => each.offer === offer && refusalOf(demand, each.room) === null)
    if (bin === undefined) {
      bin = { offer, room: offer.room, waiting: [] }
      bins.push(bin)
    }
    bin.room = filled(bin.room, demand, NEVER)
    bin.waiting.push(waiting)
  }
  return { bins, unfit }
}

/** Decides what to buy for the sessions that need a new machine, and the waiting reason of each. */
export function purchases(left: readonly Waiting[], rooms: Rooms, input: SchedulingInput): SchedulingStep[] {
  if (left.length === 0) return []
  const offers = offersOf(input.templates, input.workers)
  const { bins, unfit } = packed(left, offers)
  const hosts = unfit.length === 0 ? [] : withNobody(input)
  const refusal = refusalToBuy(input)
  const granted = bins.slice(0, refusal === null ? vacancies(input) : 0)
  const limit = refusal ?? `no more than ${input.settings.max_workers_per_region} workers may be in ${input.region}`
  const wait = ({ session }: Waiting, because: string, forGood: boolean): SchedulingStep => ({
    kind: 'wait',
    session,
    because,
    forGood,
  })
  return [
    ...unfit.map(each => {
      const because = `no template can hold it: ${whyNoneOf(offers, each.demand)}`
      const host = hosts.find(room => refusalOf(each.demand, room) === null)
      return host === undefined
        ? wait(each, because, true)
        : wait(each, `${because}; waits for room on ${host.worker.name}`, false)
    }),
    ...bins.flatMap((bin, index) => {
      const next = index < granted.length ? `a ${bin.offer.template.name} is asked for` : limit
      return bin.waiting.map(each => wait(each, `no room: ${gistOf(each, rooms)}; ${next}`, false))
    }),
    ...flightsOf(granted, input.region),
  ]
}

/** Workers that serve, boot or can be started, counted as empty: a session that would fit there waits for capacity. */
const withNobody = ({ workers, nowMs }: SchedulingInput): Room[] =>
  workers.filter(worker => isToServe(worker, nowMs)).map(worker => expectedRoom(emptied(worker)))

const isToServe = (worker: Worker, nowMs: number): boolean =>
  !GOING.has(worker.status) &&
  worker.license.pending_operation !== 'deregister' &&
  (worker.desired_status === 'RUNNING' || isResumable(worker, nowMs))
const GOING: ReadonlySet<Worker['status']> = new Set(['FAILED', 'TERMINATING', 'TERMINATED'])

const refusalToBuy = ({ settings }: SchedulingInput): string | null =>
  settings.scale_up_enabled ? null : 'nothing is bought, since scale_up_enabled is false'

/** How many more the region may have; whoever asks for more gets none at all. */
const vacancies = ({ workers, region, settings }: SchedulingInput): number => {
  const present = workers.filter(({ aws_region, status }) => aws_region === region && status !== 'TERMINATED').length
  return Math.max(0, settings.max_workers_per_region - present)
}

/** One flight per template. */
function flightsOf(bins: readonly Bin[], aws_region: string): SchedulingStep[] {
  return [...new Set(bins.map(({ offer }) => offer.template.name))].map(template_name => {
    const ours = bins.filter(({ offer }) => offer.template.name === template_name)
    const session_ids = ours.flatMap(({ waiting }) => waiting.map(({ session }) => session.id))
    const because = `there is no room for ${countedSessions(session_ids.length)}`
    return { kind: 'scale_up', template_name, aws_region, count: ours.length, session_ids, because }
  })
}

/** The most frequent reason, in words. */
function gistOf(waiting: Waiting, rooms: Rooms): string {
  const counts = new Map<string, { count: number; because: string }>()
  for (const { category, because } of placeIn(waiting.demand, roomsFor(waiting, rooms)).refusals)
    counts.set(category, { count: (counts.get(category)?.count ?? 0) + 1, because })
  const [most] = [...counts].toSorted(([, a], [, b]) => b.count - a.count)
  if (most === undefined)
    return rooms.size === 0
      ? 'there is no worker'
      : `there is no worker but ${rooms.size === 1 ? 'the one' : 'those'} that it left`
  const [category, { count, because }] = most
  return count === 1 ? because : `${count} workers refuse it for their ${category}, the last because ${because}`
}

const TOLD_MAX = 3

function whyNoneOf(offers: readonly Offer[], demand: Demand): string {
  if (offers.length === 0) return 'none is enabled'
  const told = offers.slice(-TOLD_MAX).map(({ template, room }) => {
    const refusal = refusalOf(demand, room)
    return `of ${template.name}, ${refusal?.because ?? 'it would fit'}`
  })
  return told.join('; ')
}
