import type { Span } from '../calendar/span.ts'
import type { LabletDefinition } from '../definition/lablet-definition.ts'
import { type Instant, toInstant } from '../instant.ts'
import { reason } from '../reason.ts'
import { cheapestFitting, holdersOf, type Offer } from '../session/decide-scale-up.ts'
import { type Demand, demandOf } from '../session/demand.ts'
import type { FreeResources } from '../session/free-capacity.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import { refusalOf } from '../session/placement.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import type { Worker } from '../worker/worker.ts'
import { type BudgetLimits, budgetLeft, budgetRefusal, type Commitment } from './budget.ts'
import type { FleetWarning } from './fleet-warning.ts'
import type { SettingValues } from './settings.ts'

export const AHEAD_MS = 14 * 86_400_000

export interface CapacityAhead {
  /** Open sessions that need a worker at some time until `AHEAD_MS` from now. */
  readonly sessions: readonly LabletSession[]
  readonly definitions: ReadonlyMap<string, LabletDefinition>
  readonly workers: readonly Worker[]
  readonly templates: readonly WorkerTemplate[]
  readonly settings: Pick<SettingValues, 'max_workers_per_region' | 'scale_up_enabled'> & BudgetLimits
  /** Where workers are bought. */
  readonly region: string
  readonly nowMs: number
  readonly spanOf: (session: LabletSession, definition: LabletDefinition) => Span
}

/** Sessions with the same demand are counted, not packed one by one: thousands are compared while requests wait. */
interface Use extends Span {
  readonly group: Group
}

interface Group {
  readonly demand: Demand
  /** Machines that can hold such a session, with nothing else on them. */
  readonly hosts: readonly number[]
  /** The cheapest template that can; null if none can. */
  readonly offer: Offer | null
  readonly leastUsdPerHour: number | null
}

interface Machines {
  readonly hosts: readonly FreeResources[]
  readonly uses: readonly Use[]
}

/** Warnings about limits that are too low for what is booked, long before the day. */
export function capacityWarnings(input: CapacityAhead): FleetWarning[] {
  const machines = machinesOf(input)
  const shortage = shortageOf(machines, input)
  return [...(shortage === null ? [] : [shortageWarning(shortage, input)]), ...budgetWarnings(machines.uses, input)]
}

function machinesOf(input: CapacityAhead): Machines {
  const { sessions, definitions, nowMs, spanOf } = input
  const { offers, hosts } = holdersOf(input)
  const groups = new Map<string, Group>()
  const groupOf = (session: LabletSession, definition: LabletDefinition): Group => {
    const key = `${definition.id} ${JSON.stringify(session.needs)}`
    const known = groups.get(key)
    if (known !== undefined) return known
    const demand = { ...demandOf(definition), needs: session.needs }
    const group = {
      demand,
      hosts: hosts.flatMap((host, n) => (refusalOf(demand, host) === null ? [n] : [])),
      offer: cheapestFitting(demand, offers),
      leastUsdPerHour: leastPerHour(demand, offers),
    }
    groups.set(key, group)
    return group
  }
  const uses = sessions
    .flatMap((session): Use[] => {
      const definition = definitions.get(session.definition.id)
      if (definition === undefined) return []
      const { fromMs, untilMs } = spanOf(session, definition)
      return [{ fromMs: Math.max(nowMs, fromMs), untilMs, group: groupOf(session, definition) }]
    })
    .filter(({ fromMs, untilMs }) => untilMs > fromMs && fromMs < nowMs + AHEAD_MS)
    .toSorted((a, b) => a.fromMs - b.fromMs)
  return { hosts: hosts.map(({ free }) => free), uses }
}

interface Shortage {
  readonly at: Instant
  readonly needed: number
  /** Sessions that would wait at that time. */
  readonly sessions: number
  /** The most workers that are needed at any time. */
  readonly highest: number
}

/** The first time at which more workers are needed than there may be; null if there is none. */
function shortageOf({ hosts, uses }: Machines, { workers, region, settings }: CapacityAhead): Shortage | null {
  const present = workers.filter(each => each.aws_region === region && each.status !== 'TERMINATED').length
  const { max_workers_per_region: limit, scale_up_enabled } = settings
  const vacancies = scale_up_enabled ? Math.max(0, limit - present) : 0
  let first: Omit<Shortage, 'highest'> | null = null
  let highest = 0
  for (const { atMs, active } of peaksOf(uses)) {
    const bought = newMachines(hosts, active)
    if (bought.length <= vacancies) continue
    highest = Math.max(highest, present + bought.length)
    const sessions = bought.slice(vacancies).reduce((sum, each) => sum + each.sessions, 0)
    first ??= { at: toInstant(atMs), needed: present + bought.length, sessions }
  }
  return first === null ? null : { ...first, highest }
}

/** The uses at each time at which no other one begins before one of them ends. */
function* peaksOf(uses: readonly Use[]): Iterable<{ readonly atMs: number; readonly active: readonly Use[] }> {
  let active: Use[] = []
  for (const [n, use] of uses.entries()) {
    active.push(use)
    const nextMs = uses[n + 1]?.fromMs ?? Number.POSITIVE_INFINITY
    if (nextMs === use.fromMs || active.every(({ untilMs }) => untilMs > nextMs)) continue
    yield { atMs: use.fromMs, active }
    active = active.filter(({ untilMs }) => untilMs > nextMs)
  }
}

interface NewMachine {
  readonly offer: Offer
  free: FreeResources
  sessions: number
}

/** First fit, as purchases are packed: into machines that exist, then into new ones of the cheapest template that fits. */
function newMachines(hosts: readonly FreeResources[], active: readonly Use[]): NewMachine[] {
  const counts = new Map<Group, number>()
  for (const { group } of active) counts.set(group, (counts.get(group) ?? 0) + 1)
  const free = [...hosts]
  const bought: NewMachine[] = []
  for (const [{ demand, hosts: fitting, offer }, count] of counts) {
    let left = count
    for (const n of fitting) {
      const host = free[n]
      if (host === undefined || left === 0) continue
      const placed = Math.min(left, fittingCount(demand, host))
      free[n] = lessened(host, demand, placed)
      left -= placed
    }
    if (offer === null) continue
    for (const machine of bought) if (machine.offer === offer) left -= fill(machine, demand, left)
    while (left > 0) {
      const machine = { offer, free: offer.capacity.free, sessions: 0 }
      bought.push(machine)
      left -= Math.max(1, fill(machine, demand, left))
    }
  }
  return bought
}

function fill(machine: NewMachine, demand: Demand, count: number): number {
  const placed = Math.min(count, fittingCount(demand, machine.free))
  machine.free = lessened(machine.free, demand, placed)
  machine.sessions += placed
  return placed
}

/** How many such sessions fit. Sums of decimals differ by less than `ROUNDING`. */
function fittingCount({ needs, ports }: Demand, free: FreeResources): number {
  const times = (amount: number, need: number): number => (need > 0 ? (amount + ROUNDING) / need : Number.MAX_VALUE)
  const counts = [
    times(free.cpu_cores, needs.cpu_cores),
    times(free.memory_gb, needs.memory_gb),
    times(free.storage_gb, needs.storage_gb),
    times(free.nodes, needs.node_count),
    times(free.ports, ports),
  ]
  return Math.max(0, Math.floor(Math.min(...counts)))
}
const ROUNDING = 1e-6

const lessened = (free: FreeResources, { needs, ports }: Demand, count: number): FreeResources => ({
  cpu_cores: free.cpu_cores - count * needs.cpu_cores,
  memory_gb: free.memory_gb - count * needs.memory_gb,
  storage_gb: free.storage_gb - count * needs.storage_gb,
  nodes: free.nodes - count * needs.node_count,
  ports: free.ports - count * ports,
})

function shortageWarning(
  { at, needed, sessions, highest }: Shortage,
  { settings, region }: CapacityAhead,
): FleetWarning {
  const { scale_up_enabled, max_workers_per_region: limit } = settings
  return {
    id: `workers:${region}`,
    kind: 'capacity_ahead',
    is_critical: true,
    reason: scale_up_enabled
      ? reason('workers_short_ahead', { at, needed, limit, sessions })
      : reason('workers_lacking_ahead', { at, needed, sessions }),
    fix: scale_up_enabled ? reason('fix_max_workers', { workers: highest }) : reason('fix_scale_up_disabled'),
  }
}

/**
 * The first day and month whose sessions cost more than the budget even if their machines were full all the time: no schedule
 * can be that cheap.
 */
function budgetWarnings(uses: readonly Use[], { settings, nowMs }: CapacityAhead): FleetWarning[] {
  const costs = uses.flatMap(({ fromMs, untilMs, group: { leastUsdPerHour } }): Commitment[] =>
    leastUsdPerHour === null ? [] : [{ fromMs, untilMs, usdPerHour: leastUsdPerHour }],
  )
  const windows = budgetLeft(settings, { fromMs: nowMs, untilMs: nowMs + AHEAD_MS }, { spent: [], committed: [] })
  return (['day', 'month'] as const).flatMap(period => {
    const refused = windows.flatMap(window =>
      window.period === period && window.fromMs > nowMs ? (budgetRefusal([window], costs) ?? []) : [],
    )
    const [first] = refused
    if (first === undefined) return []
    const { date, limit, needed_usd } = first.params
    return [
      {
        id: `budget_ahead:${period}`,
        kind: 'capacity_ahead',
        is_critical: true,
        reason: reason('budget_short_ahead', {
          period,
          date: String(date),
          limit: Number(limit),
          needed_usd: Number(needed_usd),
        }),
        fix: reason('fix_budget', { period }),
      },
    ]
  })
}

/** The price of the part of a machine that a session takes, on the template where that is cheapest; null if none fits. */
function leastPerHour(demand: Demand, offers: readonly Offer[]): number | null {
  const prices = offers
    .filter(({ capacity }) => refusalOf(demand, capacity) === null)
    .map(({ template, capacity: { free } }) => {
      const { cpu_cores, memory_gb, storage_gb, node_count } = demand.needs
      const share = Math.max(
        cpu_cores / free.cpu_cores,
        memory_gb / free.memory_gb,
        storage_gb / free.storage_gb,
        node_count / free.nodes,
      )
      return share * template.cost_per_hour_usd
    })
  return prices.length === 0 ? null : Math.min(...prices)
}
