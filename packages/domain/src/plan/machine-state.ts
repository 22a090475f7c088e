import {
  type Amounts,
  type MachineCalendar,
  machineCalendar,
  put,
  type SleepTimes,
} from '../calendar/machine-calendar.ts'
import type { Span } from '../calendar/span.ts'
import type { Timings } from '../calendar/timings.ts'
import { emptied, ledgerTime, spanOfReservation } from '../calendar/worker-ledger.ts'
import { STOP_MS } from '../economy/machine-model.ts'
import { toMs } from '../instant.ts'
import { isArriving, isResumable, isStuck } from '../session/decide-capacity-wait.ts'
import { type Offer, offersOf } from '../session/decide-scale-up.ts'
import type { Demand } from '../session/demand.ts'
import { expectedCapacity, type FreeCapacity, freeCapacityOf } from '../session/free-capacity.ts'
import { refusalOf } from '../session/placement.ts'
import { needsApproval } from '../worker/instance-trust.ts'
import type { Worker } from '../worker/worker.ts'
import { blockedSinceOf } from '../worker/worker-loss.ts'
import type { PlanInput, PlanSession } from './plan-input.ts'

const MINUTE_MS = 60_000
/** A machine that is later than expected may come at any moment. */
const OVERDUE_MS = MINUTE_MS
/** EC2 may have capacity again by then for a start that it refused. */
const REFUSED_MS = 10 * MINUTE_MS
/** With so many refused starts of a template, EC2 has no capacity for it, and more starts would be refused too. */
const REFUSED_STARTS_MAX = 3
/** A start takes less, and a new machine more. */
const UNLICENSED_MS = 12 * MINUTE_MS

/** A machine while a plan is made: a worker, or one that would be bought. */
export interface Machine {
  readonly key: string
  /** Null if it would be bought. */
  readonly worker: Worker | null
  readonly template: string
  readonly usdPerHour: number
  /** What placement knows about it, as if it served and were empty. */
  readonly host: FreeCapacity
  /** Whether it may get sessions. */
  readonly isOpen: boolean
  /** Whether it is requested to run. */
  readonly isOn: boolean
  /** Whether it serves now. */
  readonly isServing: boolean
  /** Whether the plan may ever stop it. */
  readonly mayStop: boolean
  /** From when on it surely serves, and from when on it does on average. */
  readonly readyMs: number
  readonly likelyMs: number
  /** Whether EC2 refuses to start it. */
  readonly isRefused: boolean
  /** What a machine that serves has now, while it waits for its license or node definitions; else null. */
  readonly pending: { readonly capacity: FreeCapacity; readonly untilMs: number } | null
  /** Whether it arrives later than expected. */
  readonly isLate: boolean
  readonly times: SleepTimes
  /** What its next boot takes longer, because it is the first one. */
  readonly firstExtraMs: number
  readonly calendar: MachineCalendar
  readonly held: Set<string>
  readonly placed: Placed[]
}

/** A session to place, with the span that it needs. */
export interface Task {
  readonly session: PlanSession
  readonly demand: Demand
  readonly amounts: Amounts
  readonly wanted: Span
}

/** A session on a machine. Its span begins later than wanted if no machine can take it in time. */
export interface Placed {
  readonly task: Task
  readonly span: Span
}

export const amountsOf = ({ needs, ports }: Pick<Demand, 'needs' | 'ports'>): Amounts => ({
  cpu_cores: needs.cpu_cores,
  memory_gb: needs.memory_gb,
  storage_gb: needs.storage_gb,
  nodes: needs.node_count,
  ports,
})

/** The workers that run, arrive or may be woken. */
export function machinesOf(input: PlanInput): Machine[] {
  const sessions = new Map(input.sessions.map(session => [session.id, session]))
  return input.workers
    .flatMap(worker => machineOf(worker, input, sessions) ?? [])
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}

const GONE: ReadonlySet<Worker['status']> = new Set(['FAILED', 'TERMINATING', 'TERMINATED'])

const isRefused = (worker: Worker): boolean =>
  worker.desired_status === 'RUNNING' && worker.status !== 'RUNNING' && blockedSinceOf(worker) !== null

/** How much later a start of the template can succeed. */
function refusedMs({ workers }: PlanInput, template: string): number {
  const refused = workers.filter(worker => worker.template_name === template && isRefused(worker)).length
  return refused >= REFUSED_STARTS_MAX ? REFUSED_MS : 0
}

function machineOf(worker: Worker, input: PlanInput, sessions: ReadonlyMap<string, PlanSession>): Machine | null {
  const { nowMs, timings } = input
  if (GONE.has(worker.status)) return null
  const isOn = worker.desired_status === 'RUNNING'
  const isServing = isOn && worker.status === 'RUNNING' && worker.service_status === 'AVAILABLE'
  const arrives = isOn && !isServing && isArriving(worker, nowMs)
  const sleeps = !isOn && isResumable(worker, nowMs)
  if (!isServing && !arrives && !sleeps) return null
  const isFree = !worker.cordoned && worker.drain === null && !needsApproval(worker)
  const boot =
    worker.cml.version === null ? timings.firstBootMs(worker.template_name) : timings.bootMs(worker.template_name)
  const isPending = isServing && isArriving(worker, nowMs)
  const host = (isServing && !isPending ? freeCapacityOf : expectedCapacity)(emptied(worker))
  const mayStop = !worker.protected && worker.drain === null && worker.idle_detection_enabled
  const calendar = isOn
    ? machineCalendar(
        host.free,
        mayStop ? Math.max(heldOnMs(worker, nowMs), input.keptUntil?.get(worker.id) ?? 0) : Number.POSITIVE_INFINITY,
      )
    : machineCalendar(withoutReserved(host.free, worker))
  const machine: Machine = {
    key: worker.id,
    worker,
    template: worker.template_name,
    usdPerHour: worker.cost_per_hour_usd ?? 0,
    host,
    isOpen: isFree && (!isServing || freeCapacityOf(worker).closed === null),
    isOn,
    isServing,
    mayStop,
    pending: isPending
      ? { capacity: freeCapacityOf(emptied(worker)), untilMs: nowMs + settlingMs(worker, nowMs) }
      : null,
    ...readiness(worker, boot, { nowMs, isServing, laterMs: refusedMs(input, worker.template_name) }),
    times: { wakeMs: timings.bootMs(worker.template_name).wakeMs, stopMs: STOP_MS },
    firstExtraMs: isOn ? 0 : Math.max(0, boot.wakeMs - timings.bootMs(worker.template_name).wakeMs),
    calendar,
    held: new Set(),
    placed: [],
  }
  reserve(machine, input, sessions)
  return machine
}

/** A license that was refused may never come, but a new machine would need one too. */
const settlingMs = (worker: Worker, nowMs: number): number => (isStuck(worker, nowMs) ? UNLICENSED_MS : OVERDUE_MS)

/** Until when a person keeps it running. */
const heldOnMs = ({ desired_until }: Worker, nowMs: number): number =>
  desired_until === null ? nowMs : Math.max(nowMs, toMs(desired_until))

function readiness(
  worker: Worker,
  boot: ReturnType<Timings['bootMs']>,
  { nowMs, isServing, laterMs }: { nowMs: number; isServing: boolean; laterMs: number },
): Pick<Machine, 'readyMs' | 'likelyMs' | 'isLate' | 'isRefused'> {
  if (isServing) return { readyMs: nowMs, likelyMs: nowMs, isLate: false, isRefused: false }
  if (worker.desired_status !== 'RUNNING') {
    const fromMs = stoppedMs(worker, nowMs) + laterMs
    return { readyMs: fromMs + boot.wakeMs, likelyMs: fromMs + boot.meanMs, isLate: false, isRefused: false }
  }
  const refused = isRefused(worker)
  const startMs = refused ? nowMs + REFUSED_MS : startedMs(worker)
  return {
    readyMs: Math.max(startMs + boot.wakeMs, nowMs + OVERDUE_MS),
    likelyMs: Math.max(startMs + boot.meanMs, nowMs + OVERDUE_MS),
    isRefused: refused,
    isLate: refused || startMs + boot.wakeMs < nowMs,
  }
}

/** When a machine that sleeps, or is about to, may start again. */
function stoppedMs({ status, entered_status_at }: Worker, nowMs: number): number {
  if (status === 'STOPPED') return nowMs
  return Math.max(nowMs, (status === 'STOPPING' ? toMs(entered_status_at) : nowMs) + STOP_MS)
}

/** When EC2 began to start the machine, as far as is known. */
function startedMs({ status, entered_status_at, pause, created_at, state_history }: Worker): number {
  const requestedMs = toMs(pause.last_resumed_at ?? created_at)
  if (status === 'PENDING' || status === 'PROVISIONING' || status === 'STARTING')
    return Math.max(requestedMs, toMs(entered_status_at))
  if (status === 'STOPPING') return Math.max(requestedMs, toMs(entered_status_at) + STOP_MS)
  const started = state_history.findLast(({ to }) => to === 'STARTING')
  return Math.max(requestedMs, started === undefined ? requestedMs : toMs(started.at))
}

/** Puts what the worker has reserved. */
function reserve(machine: Machine, input: PlanInput, sessions: ReadonlyMap<string, PlanSession>): void {
  const { nowMs, definitions, timings } = input
  const time = ledgerTime(nowMs, timings)
  for (const [id, reservation] of Object.entries(machine.worker?.reservations ?? {})) {
    const session = sessions.get(id)
    const definition = session === undefined ? undefined : definitions.get(session.definition.id)
    const use = { ...reservation, ports: definition?.port_template.length ?? 0 }
    const { fromMs, untilMs } = spanOfReservation(reservation, time)
    if (machine.isOn) put(machine.calendar, { fromMs: Math.max(nowMs, fromMs), untilMs }, use)
    machine.held.add(id)
  }
}

/** What a machine that sleeps still reserves is missing when it wakes, and is no reason to wake it. */
const withoutReserved = (free: Amounts, { capacity: { reserved } }: Worker): Amounts => ({
  cpu_cores: free.cpu_cores - reserved.cpu_cores,
  memory_gb: free.memory_gb - reserved.memory_gb,
  storage_gb: free.storage_gb - reserved.storage_gb,
  nodes: free.nodes - reserved.nodes,
  ports: free.ports,
})

/** A template that may be bought, as a machine without sessions. */
export function offeredMachines(input: PlanInput): Machine[] {
  const { templates, workers, timings, nowMs, settings } = input
  if (!settings.scale_up_enabled) return []
  return offersOf(templates, workers).map(({ template, capacity }: Offer): Machine => {
    const { name } = template
    const [first, later] = [timings.firstBootMs(name), timings.bootMs(name)]
    const fromMs = nowMs + refusedMs(input, name)
    return {
      key: `buy:${name}`,
      worker: null,
      template: name,
      usdPerHour: template.cost_per_hour_usd,
      host: capacity,
      isOpen: true,
      isOn: false,
      isServing: false,
      mayStop: true,
      readyMs: fromMs + first.wakeMs,
      likelyMs: fromMs + first.meanMs,
      isRefused: false,
      pending: null,
      isLate: false,
      times: { wakeMs: later.wakeMs, stopMs: STOP_MS },
      firstExtraMs: Math.max(0, first.wakeMs - later.wakeMs),
      calendar: machineCalendar(capacity.free),
      held: new Set(),
      placed: [],
    }
  })
}

/** A machine of the offer, for the session that it is bought for. */
export const boughtFor = (offer: Machine, { session }: Task): Machine => ({
  ...offer,
  key: `${offer.key}:${session.id}`,
  calendar: machineCalendar(offer.host.free),
  held: new Set(),
  placed: [],
})

export const accepts = ({ isOpen, held, host }: Machine, { demand }: Task): boolean =>
  isOpen && !held.has(demand.session_id ?? '') && refusalOf(demand, host) === null
