import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { holdsLicense } from '../worker/decision/license-operation.ts'
import { CONDITION, type Worker, withoutCondition } from '../worker/worker.ts'
import { type LicensePool, type LicenseSeat, seatCount } from './license-pool.ts'

/** A worker that is not created by then never will be. */
const CREATED_MS_MAX = 10 * 60_000

const DOWN: ReadonlySet<Worker['status']> = new Set(['STOPPING', 'FAILED', 'TERMINATING', 'TERMINATED'])
const isUp = ({ status, desired_status }: Worker): boolean => desired_status === 'RUNNING' && !DOWN.has(status)

/** Whether the worker needs a seat now, or will need it once it has booted. */
export const wantsSeat = (worker: Worker): boolean =>
  worker.license.seat === 'wanted' && worker.license.product !== null && isUp(worker)

export const holdsSeat = ({ license: { seat } }: Worker): boolean => seat !== 'none' && seat !== 'wanted'

/** While the Smart Account may count its license, or LCM is about to register it. */
const keepsSeat = (worker: Worker): boolean => {
  const { seat, status, pending_operation } = worker.license
  if (holdsLicense(worker)) return true
  return seat !== 'leaving' && isUp(worker) && (pending_operation === 'register' || status === 'FAILED')
}

/** Applied to every change of a worker: it gives its seat up in the same write that says that its license is returned. */
export function withSeatAfter(worker: Worker): Worker {
  const given = holdsSeat(worker) && !keepsSeat(worker) ? withoutSeat(worker) : worker
  const settled = given.status === 'TERMINATED' && given.license.seat === 'wanted' ? withSeat(given, 'none') : given
  const isMissing = settled.conditions.some(({ type }) => type === CONDITION.seatMissing)
  if (!isMissing || wantsSeat(settled)) return settled
  return { ...settled, conditions: withoutCondition(settled.conditions, CONDITION.seatMissing) }
}

const withSeat = (worker: Worker, seat: Worker['license']['seat']): Worker => ({
  ...worker,
  license: { ...worker.license, seat },
})

/** CML must not register before a seat is taken again. */
function withoutSeat(worker: Worker): Worker {
  const { license, desired_status } = worker
  const isOver = license.seat === 'leaving' || desired_status === 'TERMINATED'
  const pending_operation = license.pending_operation === 'register' ? null : license.pending_operation
  return { ...worker, license: { ...license, seat: isOver ? 'none' : 'wanted', pending_operation } }
}

/** The worker with a seat that was taken for its present version. */
export const withTakenSeat = (worker: Worker): Worker => ({
  ...worker,
  license: {
    ...worker.license,
    seat: 'held',
    pending_operation: 'register',
    operation_started_at: null,
    last_error: null,
  },
})

/** Whether a change of a worker concerns its pool: a seat to take, to free, or to call back. */
export function concernsPool(before: Worker, after: Worker): boolean {
  if (before.license.seat === 'none' && after.license.seat === 'none') return false
  const isReleased = holdsSeat(before) && !holdsSeat(after)
  const isStopping = holdsSeat(after) && before.desired_status === 'RUNNING' && after.desired_status === 'STOPPED'
  return isReleased || isStopping || (wantsSeat(after) && !wantsSeat(before))
}

export interface SeatFacts {
  /** The workers of the product, and those of its seats, by id. */
  readonly workers: ReadonlyMap<string, Worker>
  /** The open license leaks by worker id. */
  readonly leaks: ReadonlyMap<string, string>
  readonly nowMs: number
}

/**
 * The seats that stay taken. A seat ends with the license of its worker, unless that was leaked. One whose worker was changed
 * since it was taken, and does not hold it, was given up: the write that would have confirmed it can't succeed any more.
 */
export function settledSeats(taken: LicensePool['taken'], { workers, leaks, nowMs }: SeatFacts): LicensePool['taken'] {
  const kept = Object.entries(taken).flatMap(([id, seat]): [string, LicenseSeat][] => {
    const leak_id = leaks.get(id) ?? null
    if (leak_id === null && isGivenUp(seat, workers.get(id), nowMs)) return []
    return [[id, { ...seat, leak_id }]]
  })
  return Object.fromEntries(kept)
}

function isGivenUp(seat: LicenseSeat, worker: Worker | undefined, nowMs: number): boolean {
  if (worker === undefined) return seat.worker_version > 0 || toMs(seat.since) + CREATED_MS_MAX <= nowMs
  if (holdsSeat(worker) || wantsSeat(worker)) return false
  return worker.version > seat.worker_version
}

/** The workers that need a seat, in the order in which they get one: those that sessions wait for come first. */
export const seatQueue = (workers: Iterable<Worker>): Worker[] =>
  [...workers]
    .filter(wantsSeat)
    .toSorted(
      (a, b) =>
        Number(b.wanted_by.length > 0) - Number(a.wanted_by.length > 0) || (a.created_at < b.created_at ? -1 : 1),
    )

/** The seats after a worker took one for its present version; null if none is free. A seat that is reserved for it is its own. */
export function withSeatOf(
  pool: Pick<LicensePool, 'product' | 'seats' | 'taken'>,
  worker: Pick<Worker, 'id' | 'name' | 'version'>,
  now: string,
): LicensePool['taken'] | null {
  const known = pool.taken[worker.id]
  if (known === undefined && seatCount(pool).free === 0) return null
  const { since = now, leak_id = null } = known ?? {}
  return { ...pool.taken, [worker.id]: { worker_name: worker.name, since, worker_version: worker.version, leak_id } }
}

/** Workers that are being stopped and return their license on the way, because others wait for a seat. */
export const seatsToRecall = (workers: Iterable<Worker>, missing: number): Worker[] =>
  [...workers]
    .filter(({ license, status, desired_status }) => {
      const isOnTheWay = status === 'RUNNING' || status === 'DRAINING' || status === 'STOPPING'
      return license.seat === 'held' && desired_status === 'STOPPED' && isOnTheWay
    })
    .slice(0, missing)

/** Why a product has no free seat. A stopped worker that holds one is named. */
export function noSeatReason(
  pool: Pick<LicensePool, 'product' | 'seats' | 'taken'>,
  workers: Iterable<Worker> = [],
): Reason {
  const { product, seats, taken } = pool
  const leaked = Object.values(taken).filter(({ leak_id }) => leak_id !== null).length
  const stopped = [...workers].find(worker => worker.status === 'STOPPED' && taken[worker.id]?.leak_id === null)
  return reason('no_license_seat', { product, seats, leaked, stopped: stopped?.name ?? null })
}
