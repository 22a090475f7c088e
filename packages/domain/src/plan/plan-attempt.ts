import { spanOf } from '../calendar/span.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { fitsNowhereBecause, holdersOf } from '../session/decide-scale-up.ts'
import { demandOf } from '../session/demand.ts'
import { emptyMachines } from './empty-machines.ts'
import { type Kept, keepPlacements } from './keep-placements.ts'
import { accepts, amountsOf, type Machine, machinesOf, offeredMachines, type Task } from './machine-state.ts'
import { type Fleet, obstacleTo, optionOn, placeAll, USD_PER_LATE_MS } from './place-tasks.ts'
import type { UnplacedSession } from './plan.ts'
import type { PlanInput } from './plan-input.ts'
import { usdOf } from './plan-steps.ts'

/** The order in which sessions get their machines. */
export type Order = (a: Task, b: Task) => number

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byId: Order = (a, b) => compare(a.session.id, b.session.id)
const bySize: Order = (a, b) => b.amounts.cpu_cores - a.amounts.cpu_cores || b.amounts.memory_gb - a.amounts.memory_gb

/** By start, and of those that start together the longest first: machines are awake for it anyway. */
export const byStart: Order = (a, b) =>
  a.wanted.fromMs - b.wanted.fromMs || b.wanted.untilMs - a.wanted.untilMs || bySize(a, b) || byId(a, b)

/** Tried where the first order leaves sessions unplaced. The last one is the order in which they were admitted. */
export const OTHER_ORDERS: readonly Order[] = [
  (a, b) => bySize(a, b) || byStart(a, b),
  (a, b) => compare(a.session.created_at, b.session.created_at) || byId(a, b),
]

/** One way to place all sessions. */
export interface Attempt {
  readonly fleet: Fleet
  readonly unplaced: readonly Task[]
  /** Sessions without a machine although capacity was promised. */
  readonly broken: number
  readonly usd: number
  /** In USD, with what it is worth that sessions wait. */
  readonly cost: number
  /** How many machines are bought. */
  readonly purchases: number
}

/** The sessions to place. Those that have begun late are wanted now. */
export function tasksOf({ sessions, definitions, timings, settings, nowMs }: PlanInput): Task[] {
  return sessions
    .filter(
      ({ status, desired_status, timeslot }) =>
        status === 'PENDING' && desired_status === 'RUNNING' && toMs(timeslot.end) > nowMs,
    )
    .flatMap(session => {
      const definition = definitions.get(session.definition.id)
      if (definition === undefined) return []
      const demand = { ...demandOf(definition, session.id), needs: session.needs }
      const { fromMs, untilMs } = spanOf(session, definition, timings, settings)
      const wanted = { fromMs: Math.max(fromMs, nowMs), untilMs }
      return [{ session, demand, amounts: amountsOf(demand), wanted }]
    })
}

/** How an attempt places sessions. */
export interface Way {
  readonly order: Order
  /** The only template that is bought; null for whichever is best for each session. */
  readonly template: string | null
  readonly kept: Kept
}

export function attempt(input: PlanInput, tasks: readonly Task[], { order, template, kept }: Way): Attempt {
  const fleet: Fleet = {
    nowMs: input.nowMs,
    machines: machinesOf(input),
    offers: offeredMachines(input).filter(offer => template === null || offer.template === template),
    vacancies: vacanciesOf(input),
    seats: new Map(input.licenses),
    budgets: (input.budgets ?? []).map(budget => ({ ...budget })),
  }
  const isLost = ({ session }: Task) => Number(input.lost?.has(session.id) === true)
  const place = (group: readonly Task[]) => {
    const inOrder = group.toSorted((a, b) => isLost(b) - isLost(a) || order(a, b))
    const done = keepPlacements(inOrder, fleet, input, kept)
    return placeAll(
      inOrder.filter(task => !done.has(task)),
      fleet,
    )
  }
  const isPromised = ({ session }: Task) => !input.bestEffort.has(session.id)
  const broken = place(tasks.filter(isPromised))
  const left = place(tasks.filter(task => !isPromised(task)))
  emptyMachines(fleet)
  const used = fleet.machines.filter(({ worker, placed }) => worker !== null || placed.length > 0)
  const usd = used.reduce((sum, machine) => sum + usdOf(machine), 0)
  const lateMs = used
    .flatMap(({ placed }) => placed)
    .reduce((sum, { task, span }) => sum + span.fromMs - task.wanted.fromMs, 0)
  return {
    fleet: { ...fleet, machines: used },
    unplaced: [...broken, ...left],
    broken: broken.length,
    usd,
    cost: usd + lateMs * USD_PER_LATE_MS,
    purchases: used.filter(({ worker }) => worker === null).length,
  }
}

const vacanciesOf = ({ workers, region, settings }: PlanInput): number =>
  settings.max_workers_per_region -
  workers.filter(({ aws_region, status }) => aws_region === region && status !== 'TERMINATED').length

/** Why the plan has no machine for them. */
export function unplacedBecause(input: PlanInput, { fleet, unplaced }: Attempt): UnplacedSession[] {
  if (unplaced.length === 0) return []
  const holders = holdersOf(input)
  const all = [...fleet.machines, ...offeredMachines(input)]
  return unplaced.map(task => {
    const options = all.flatMap(machine => (accepts(machine, task) ? (optionOn(machine, task, fleet.nowMs) ?? []) : []))
    const [option] = options.toSorted((a, b) => a.lateMs - b.lateMs || a.usd - b.usd)
    const obstacle = option === undefined ? null : obstacleTo(option, fleet)
    const because =
      fitsNowhereBecause(task.demand, holders) ??
      (option === undefined || obstacle === null ? noCapacity(input) : obstacleReason(input, obstacle, option.machine))
    return { session_id: task.session.id, because }
  })
}

const noCapacity = ({ settings }: PlanInput): Reason =>
  settings.scale_up_enabled ? reason('plan_no_capacity') : reason('scale_up_disabled')

function obstacleReason(
  { region, settings }: PlanInput,
  obstacle: NonNullable<ReturnType<typeof obstacleTo>>,
  { host }: Machine,
): Reason {
  if (obstacle === 'vacancies') return reason('region_worker_limit', { region, limit: settings.max_workers_per_region })
  if (obstacle === 'budget') return reason('plan_budget_reached')
  return reason('plan_no_license_free', { license: host.worker.license.product ?? '' })
}
