import { type Amounts, copied, type MachineCalendar, peakOver, put } from '../calendar/machine-calendar.ts'
import { ALWAYS, type Span } from '../calendar/span.ts'
import {
  AS_PLANNED,
  type LedgerTime,
  ledgerCalendar,
  rounded,
  timesOf,
  usedBy,
  withReservation,
} from '../calendar/worker-ledger.ts'
import type { Instant } from '../instant.ts'
import { PORT_POOL } from '../lab/ports.ts'
import { FREE_NODES, nodesOfProduct } from '../license/nodes-of-product.ts'
import { type Reason, reason } from '../reason.ts'
import type { Shortage } from '../text/reasons/placement-reasons.ts'
import { approvalRequired, needsApproval } from '../worker/instance-trust.ts'
import { CONDITION, holds, type Worker } from '../worker/worker.ts'
import type { Demand } from './demand.ts'

export type FreeResources = Amounts

/** The facts that placement needs about a worker, computed once: a cycle compares every worker with every session. */
export interface FreeCapacity {
  readonly worker: Worker
  /** Why the worker accepts no sessions; null if it does. */
  readonly closed: Reason | null
  /** Resources that are free at every time from now on. */
  readonly free: FreeResources
  /** Reserved resources at each moment. */
  readonly calendar: MachineCalendar
  /** How full the worker is. The fullest that fits is taken. */
  readonly score: number
  /** Whether the worker is not available yet, so that unknown facts about its CML don't count against it. */
  readonly isExpected: boolean
}

const PORTS = PORT_POOL.to - PORT_POOL.from + 1

/** Overdue reservations count as long as they may still hold at that time. */
export function freeCapacityOf(worker: Worker, time: LedgerTime = AS_PLANNED): FreeCapacity {
  const portsTaken = Object.values(worker.ports).reduce((sum, each) => sum + Object.keys(each).length, 0)
  const limits = { ...limitsOf(worker), ports: PORTS - portsTaken }
  const calendar = ledgerCalendar(worker.reservations, limits, time)
  return {
    worker,
    closed: closedBecause(worker),
    free: freeOver(calendar, ALWAYS),
    calendar,
    score: scoreOf(worker),
    isExpected: false,
  }
}

/** Resources that are free at each moment of the span. */
export function freeOver(calendar: MachineCalendar, span: Span): FreeResources {
  const { limits } = calendar
  const peak = peakOver(calendar, span)
  return {
    cpu_cores: rounded(limits.cpu_cores - peak.cpu_cores),
    memory_gb: rounded(limits.memory_gb - peak.memory_gb),
    storage_gb: rounded(limits.storage_gb - peak.storage_gb),
    nodes: limits.nodes - peak.nodes,
    ports: limits.ports - peak.ports,
  }
}

/** The capacity with one more session on the worker. */
export function filled(capacity: FreeCapacity, demand: Demand, since: Instant): FreeCapacity {
  const times = timesOf(demand.span, since)
  const worker = withReservation(capacity.worker, demand.session_id ?? '', demand.needs, times)
  const calendar = copied(capacity.calendar)
  const use = { ...usedBy({ ...demand.needs, nodes: demand.needs.node_count }), ports: demand.ports }
  put(calendar, demand.span, use)
  return { ...capacity, worker, calendar, free: freeOver(calendar, ALWAYS), score: scoreOf(worker) }
}

/** The worker's capacity once it runs, serves and has its license. Without a seat of its license pool it gets none. */
export function expectedCapacity(worker: Worker, time: LedgerTime = AS_PLANNED): FreeCapacity {
  const serving = { status: 'RUNNING', service_status: 'AVAILABLE', desired_status: 'RUNNING' } as const
  return { ...freeCapacityOf({ ...licensed(worker), ...serving }, time), isExpected: true }
}

function licensed(worker: Worker): Worker {
  const isToRegister = worker.license.product !== null && !holds(worker.conditions, CONDITION.seatMissing)
  const status = isToRegister ? 'REGISTERED' : worker.license.status
  return { ...worker, license: { ...worker.license, status } }
}

function closedBecause(worker: Worker): Reason | null {
  const { status, service_status, desired_status, drain } = worker
  if (needsApproval(worker)) return approvalRequired(worker)
  if (status !== 'RUNNING') return reason('worker_status', { worker: null, status })
  if (service_status !== 'AVAILABLE') return reason('cml_status', { status: service_status })
  if (desired_status !== 'RUNNING') return reason('worker_desired_status', { worker: null, desired_status })
  if (drain !== null) return reason('worker_draining', { by: drain.by })
  return worker.cordoned ? reason('worker_cordoned') : null
}

/** How many nodes may run on the worker at once. */
export function nodesMax(worker: Worker): number {
  const declared = worker.capacity.declared?.max_nodes ?? 0
  if (worker.license.status !== 'REGISTERED') return Math.min(declared, FREE_NODES)
  return Math.min(declared, nodesOfProduct(worker.license.product) ?? declared)
}

/** How many nodes may run on the worker once it has its license. */
export const licensedNodes = (worker: Worker): number => nodesMax(licensed(worker))

/** The node limit, if it comes from the license rather than from the size of the machine. */
export function licenseLimit(worker: Worker): Pick<Shortage, 'node_limit' | 'license'> {
  const [most, declared] = [nodesMax(worker), worker.capacity.declared?.max_nodes ?? 0]
  if (most === declared) return NO_LIMIT
  const { status, product } = worker.license
  return { node_limit: most, license: status === 'REGISTERED' ? product : null }
}
export const NO_LIMIT: Pick<Shortage, 'node_limit' | 'license'> = { node_limit: null, license: null }

/** How much the labs on the worker may use together. */
export function limitsOf(worker: Worker): Omit<Amounts, 'ports'> {
  const { declared } = worker.capacity
  return {
    cpu_cores: declared?.cpu_cores ?? 0,
    memory_gb: declared?.memory_gb ?? 0,
    storage_gb: storageOf(declared),
    nodes: nodesMax(worker),
  }
}

/** An unknown size limits nothing; without any capacity there is none. */
const storageOf = (declared: Worker['capacity']['declared']): number =>
  declared === null ? 0 : (declared.storage_gb ?? Number.POSITIVE_INFINITY)

const SESSION_WEIGHT = 0.01
const SESSIONS_WEIGHT_MAX = 0.05

export function scoreOf({ capacity: { declared, reserved }, reservations }: Worker): number {
  if (declared === null) return 0
  const use = (reserved.cpu_cores / declared.cpu_cores + reserved.memory_gb / declared.memory_gb) / 2
  return use + Math.min(SESSIONS_WEIGHT_MAX, SESSION_WEIGHT * Object.keys(reservations).length)
}
