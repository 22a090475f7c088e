import { type Instant, toInstant, toMs } from '../instant.ts'
import type { LabNeeds } from '../lab/topology.ts'
import type { Worker } from '../worker/worker.ts'
import type { Reservation } from '../worker/worker-field-schemas.ts'
import { type Amounts, type MachineCalendar, machineCalendar, peakOver, put } from './machine-calendar.ts'
import { ALWAYS, type Span } from './span.ts'
import type { Timings } from './timings.ts'

/** When a ledger is read, and how long the removal of a lab takes then. */
export interface LedgerTime {
  readonly nowMs: number
  readonly teardownMs: number
}

export const ledgerTime = (nowMs: number, { teardownMs }: Pick<Timings, 'teardownMs'>): LedgerTime => ({
  nowMs,
  teardownMs,
})

/** No reservation is overdue. */
export const AS_PLANNED: LedgerTime = { nowMs: Number.NEGATIVE_INFINITY, teardownMs: 0 }

/**
 * When the reservation counts. A held one counts for good, until a scan has seen its lab gone. One whose lab should be gone already
 * counts until its lab could be gone at the earliest.
 */
export function spanOfReservation(
  { from, until }: Pick<Reservation, 'from' | 'until'>,
  { nowMs, teardownMs }: LedgerTime,
): Span {
  const untilMs = until === null ? Number.POSITIVE_INFINITY : toMs(until)
  return { fromMs: toMs(from), untilMs: untilMs <= nowMs ? nowMs + Math.max(1, teardownMs) : untilMs }
}

/** Ports are taken when the lab starts. */
export const usedBy = ({ cpu_cores, memory_gb, storage_gb, nodes }: Omit<Amounts, 'ports'>): Amounts => ({
  ...{ cpu_cores, memory_gb, storage_gb, nodes },
  ports: 0,
})

/** The reserved capacity of the worker at each moment. */
export function ledgerCalendar(
  reservations: Worker['reservations'],
  limits: Amounts,
  time: LedgerTime,
): MachineCalendar {
  const calendar = machineCalendar(limits)
  for (const each of Object.values(reservations)) put(calendar, spanOfReservation(each, time), usedBy(each))
  return calendar
}

const NO_LIMITS: Amounts = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0, ports: 0 }

/** The most that is reserved on the worker at any moment of the span. */
export const peakReserved = (
  { reservations }: Pick<Worker, 'reservations'>,
  span: Span,
  time: LedgerTime = AS_PLANNED,
): Amounts => peakOver(ledgerCalendar(reservations, NO_LIMITS, time), span)

type ReservationTimes = Pick<Reservation, 'since' | 'from' | 'until'>

/** A reservation from then on, for a lab that may run. */
export const heldFrom = (since: Instant) => ({ since, from: since, until: null, started_at: since })

/** The times of a reservation for a lab that has not started. */
export const timesOf = ({ fromMs, untilMs }: Span, since: Instant): ReservationTimes => ({
  since,
  from: Number.isFinite(fromMs) ? toInstant(fromMs) : since,
  until: Number.isFinite(untilMs) ? toInstant(untilMs) : null,
})

/** The worker with one more session on it, as the ledger will have it. With a moment alone it is held from then on. */
export function withReservation(
  worker: Worker,
  sessionId: string,
  needs: LabNeeds,
  times: Instant | ReservationTimes,
): Worker {
  const { cpu_cores, memory_gb, storage_gb, node_count: nodes } = needs
  const when = typeof times === 'string' ? heldFrom(times) : { ...times, started_at: null }
  const reservation = { cpu_cores, memory_gb, storage_gb, nodes, ...when }
  return withReservations(worker, { ...worker.reservations, [sessionId]: reservation })
}

export function withoutReservation(worker: Worker, sessionId: string): Worker {
  const { [sessionId]: _, ...others } = worker.reservations
  return withReservations(worker, others)
}

/** The worker with other times for a session on it; itself if nothing changes. */
export function withTimes(
  worker: Worker,
  sessionId: string,
  times: Partial<Pick<Reservation, 'until' | 'started_at'>>,
): Worker {
  const reservation = worker.reservations[sessionId]
  if (reservation === undefined) return worker
  const changed = { ...reservation, ...times }
  const isSame = changed.until === reservation.until && changed.started_at === reservation.started_at
  return isSame ? worker : withReservations(worker, { ...worker.reservations, [sessionId]: changed })
}

/** The worker without any session. */
export const emptied = (worker: Worker): Worker => withReservations({ ...worker, ports: {} }, {})

/** The sum is computed from the reservations, never from an earlier sum. */
function withReservations(worker: Worker, reservations: Worker['reservations']): Worker {
  const { cpu_cores, memory_gb, storage_gb, nodes } = peakReserved({ reservations }, ALWAYS)
  const reserved = {
    cpu_cores: rounded(cpu_cores),
    memory_gb: rounded(memory_gb),
    storage_gb: rounded(storage_gb),
    nodes,
  }
  return { ...worker, reservations, capacity: { ...worker.capacity, reserved } }
}

/** Rounds off the errors of decimal sums, which must neither refuse a session that fits nor accept one that does not. */
export const rounded = (sum: number): number => Math.round(sum * 1e6) / 1e6
