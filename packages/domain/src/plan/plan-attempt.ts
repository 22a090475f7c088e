import { spanOf } from '../calendar/span.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { fitsNowhereBecause, holdersOf } from '../session/decide-scale-up.ts'
import { demandOf } from '../session/placement.ts'
import { emptyMachines } from './empty-machines.ts'
import { accepts, amountsOf, type Machine, machinesOf, offeredMachines, type Task } from './machine-state.ts'
import { type Fleet, obstacleTo, optionOn, placeAll, take } from './place-tasks.ts'
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
  readonly isBuying: boolean
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

/** `template` is the only one that is bought; null for whichever is best for each session. */
export function attempt(
  input: PlanInput,
  tasks: readonly Task[],
  { order, template }: { order: Order; template: string | null },
): Attempt {
  const offers = offeredMachines(input).filter(offer => template === null || offer.template === template)
  const fleet: Fleet = {
    nowMs: input.nowMs,
    machines: machinesOf(input),
    offers,
    vacancies: vacanciesOf(input),
    seats: new Map(input.licenses),
    budgets: [...(input.budgets ?? [])],
  }
  const isBestEffort = ({ session }: Task) => input.bestEffort.has(session.id)
  const promised = tasks.filter(task => !isBestEffort(task)).sort(order)
  const others = tasks.filter(isBestEffort).sort(order)
  const kept = keep([...promised, ...others], fleet, input)
  const broken = placeAll(
    promised.filter(task => !kept.has(task)),
    fleet,
  )
  const left = placeAll(
    others.filter(task => !kept.has(task)),
    fleet,
  )
  emptyMachines(fleet)
  const used = fleet.machines.filter(({ worker, placed }) => worker !== null || placed.length > 0)
  return {
    fleet: { ...fleet, machines: used },
    unplaced: [...broken, ...left],
    broken: broken.length,
    usd: used.reduce((sum, machine) => sum + usdOf(machine), 0),
    isBuying: used.some(({ worker }) => worker === null),
  }
}

/** Reservations of sessions that a plan keeps were decided before: on a machine that was started for them, or in the plan before. */
function keep(tasks: readonly Task[], fleet: Fleet, { previous, nowMs }: PlanInput): ReadonlySet<Task> {
  const before = new Map<string, string>()
  for (const { key, session_ids } of previous?.machines ?? []) for (const id of session_ids) before.set(id, key)
  for (const { key, worker, isOn, isServing } of fleet.machines)
    if (isOn && !isServing) for (const id of worker?.wanted_by ?? []) before.set(id, key)
  const byKey = new Map(fleet.machines.map(machine => [machine.key, machine]))
  const kept = new Set<Task>()
  for (const task of tasks) {
    const machine = byKey.get(before.get(task.session.id) ?? '')
    if (machine === undefined || !isNear(task, machine, nowMs) || !accepts(machine, task)) continue
    const option = optionOn(machine, task, nowMs)
    if (option === null || obstacleTo(option, fleet) !== null) continue
    if (option.lateMs > 0 && (machine.isLate || !machine.isOn)) continue
    take(option, task, fleet)
    kept.add(task)
  }
  return kept
}

/** Whether another machine that sleeps could hardly be woken in time. */
const isNear = ({ wanted }: Task, { times }: Machine, nowMs: number): boolean =>
  wanted.fromMs <= nowMs + times.wakeMs + times.stopMs

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
