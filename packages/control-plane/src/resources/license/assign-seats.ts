import { ProblemError } from '@lcm/contract/problems'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { type LicensePool, seatCount } from '@lcm/domain/license/license-pool'
import {
  noSeatReason,
  seatQueue,
  seatsToRecall,
  settledSeats,
  withSeatOf,
  withTakenSeat,
} from '@lcm/domain/license/seat-decisions'
import { type Reason, reason, sameReason } from '@lcm/domain/reason'
import { CONDITION, type Worker, withCondition } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict, SYSTEM_ACTOR } from '../../system-actor.ts'
import { changeDocument } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { commitWorker } from '../worker/commit-worker.ts'

/** Each lost race means that another writer changed the worker. */
const RACES_MAX = 20

export async function findPool(api: Api, product: string | null): Promise<LicensePool | null> {
  if (product === null) return null
  const [pool] = await api.licensePools.list({ where: { product }, limit: 1 })
  return pool ?? null
}

/**
 * Frees the seats of a product that are over and gives the free ones to workers that wait. A seat is taken in the pool first
 * and then confirmed in the version of the worker that it was taken for, so that of two replicas one succeeds, and a crash
 * between the two writes leaves a seat in use and never one that is held twice. Returns whether there is a pool.
 */
export async function assignSeats(api: Api, product: string | null): Promise<boolean> {
  const found = await findPool(api, product)
  if (found === null) return false
  await settleSeats(api, found.id)
  const pooled = await pooledWorkers(api, found.product)
  let missing = 0
  for (const worker of seatQueue(pooled)) if (!(await takeSeat(api, found.id, worker, pooled))) missing++
  for (const worker of seatsToRecall(pooled, missing)) await recallSeat(api, worker)
  return true
}

/** For housekeeping: whatever a crash left. */
export async function assignAllSeats(api: Api): Promise<void> {
  for (const { product } of await listAll(api.licensePools)) await assignSeats(api, product)
}

const pooledWorkers = (api: Api, product: string): Promise<Worker[]> =>
  listAll(api.workers, { where: { pooled: product } })

/** The facts are read after the pool: a replica that takes a seat meanwhile changes the pool, and this write is refused. */
async function settleSeats(api: Api, poolId: string): Promise<void> {
  for (let race = 0; race < RACES_MAX; race++) {
    const pool = await api.licensePools.get(poolId)
    if (pool === null) return
    const taken = settledSeats(pool.taken, await seatFacts(api, pool))
    if (JSON.stringify(taken) === JSON.stringify(pool.taken)) return
    const now = toInstant(Math.max(api.clock.now(), Date.parse(pool.updated_at) + 1))
    if ((await api.licensePools.replace({ ...pool, taken, version: pool.version + 1, updated_at: now })).ok) return
  }
}

async function seatFacts(api: Api, { taken }: LicensePool) {
  const ids = Object.keys(taken)
  const found = await Promise.all(ids.map(id => api.workers.get(id)))
  const workers = new Map(found.flatMap(worker => (worker === null ? [] : [[worker.id, worker] as const])))
  // A leak is recorded before its worker says that it has no license any more.
  const leaks = await Promise.all(ids.map(worker_id => api.leaks.list({ where: { worker_id }, limit: 1000 })))
  const open = leaks.flat().filter(({ resolved_at }) => resolved_at === null)
  return { workers, leaks: new Map(open.map(leak => [leak.worker_id, leak.id])), nowMs: api.clock.now() }
}

/** False if the pool has no free seat; the worker then says so. */
async function takeSeat(api: Api, poolId: string, first: Worker, pooled: readonly Worker[]): Promise<boolean> {
  for (let worker: Worker | null = first, race = 0; worker !== null && race < RACES_MAX; race++) {
    const wanting: Worker | undefined = seatQueue([worker])[0]
    if (wanting === undefined) return true
    const pool = await changePool(api, poolId, (current, now) => withSeatOf(current, wanting, now))
    if (pool === null) return true
    const isTaken = pool.taken[wanting.id]?.worker_version === wanting.version
    const written = await nullOnConflict(
      isTaken ? confirmSeat(api, wanting, pool) : missSeat(api, wanting, pool, pooled),
    )
    if (written !== null) return isTaken
    worker = await api.workers.get(first.id)
  }
  return true
}

/** The registration at CML begins only in a later write than this one. */
const confirmSeat = (api: Api, { id, version }: Worker, { product }: LicensePool): Promise<Worker> =>
  commitWorker(api, asSystem(id, version), (worker, now) => {
    const taken = withTakenSeat(worker)
    const more = {
      before: worker.license,
      after: taken.license,
      reason: reason('license_seat_taken', { product }).message,
    }
    return { worker: taken, entries: [auditEntry(SYSTEM_ACTOR, 'license-seat', now, more)] }
  })

function missSeat(api: Api, worker: Worker, pool: LicensePool, pooled: readonly Worker[]): Promise<Worker> {
  const because = noSeatReason(pool, pooled)
  return commitWorker(api, asSystem(worker.id, worker.version), current => {
    const known = current.conditions.find(({ type }) => type === CONDITION.seatMissing)
    if (known !== undefined && sameReason(known.reason, because)) return null
    const condition = { type: CONDITION.seatMissing, status: true, reason: because }
    return { worker: { ...current, conditions: withCondition(current.conditions, condition, api.clock.now()) } }
  })
}

async function recallSeat(api: Api, { id, version }: Worker): Promise<void> {
  const write = commitWorker(api, asSystem(id, version), (worker, now) => {
    const license = { ...worker.license, seat: 'recalled' as const }
    const because = reason('license_seat_recalled', { product: license.product ?? '' })
    const more = { before: worker.license, after: license, reason: because.message }
    return { worker: { ...worker, license }, entries: [auditEntry(SYSTEM_ACTOR, 'license-recall', now, more)] }
  })
  await nullOnConflict(write)
}

/** Null from `change` keeps the pool as it is. Null if there is no pool any more. */
async function changePool(
  api: Api,
  id: string,
  change: (pool: LicensePool, now: Instant) => LicensePool['taken'] | null,
): Promise<LicensePool | null> {
  const target = { collection: api.licensePools, id, noun: 'license pool' }
  return nullOnConflict(
    changeDocument(target, api.clock, null, (pool, now) => {
      const taken = change(pool, now)
      return taken === null ? null : { document: { ...pool, taken }, entries: [] }
    }),
  )
}

/**
 * Reserves seats for workers that are about to be created, all or none. Null if they are reserved, or the product has no pool;
 * else the reason. A purchase that is not made frees them some minutes later.
 */
export async function reserveSeats(
  api: Api,
  product: string | null,
  workers: readonly { readonly id: string; readonly name: string }[],
): Promise<Reason | null> {
  const found = await findPool(api, product)
  if (found === null) return null
  await settleSeats(api, found.id)
  const pool = await changePool(api, found.id, (current, now) => {
    const added = workers.filter(({ id }) => current.taken[id] === undefined)
    if (seatCount(current).free < added.length || added.length === 0) return null
    const seats = added.map(({ id, name }) => [id, { worker_name: name, since: now, worker_version: 0, leak_id: null }])
    return { ...current.taken, ...Object.fromEntries(seats) }
  })
  if (pool === null || workers.every(({ id }) => pool.taken[id] !== undefined)) return null
  return noSeatReason(pool, await pooledWorkers(api, pool.product))
}

export function refuseSmaller(pool: LicensePool, seats: number): void {
  const used = Object.values(pool.taken)
  if (used.length <= seats) return
  const names = used.slice(0, 3).map(({ worker_name }) => worker_name)
  const many = used.length > names.length ? ', …' : ''
  const seatsText = used.length === 1 ? '1 seat' : `${used.length} seats`
  throw new ProblemError(
    'license_pool_in_use',
    `${seatsText} of ${pool.product} ${used.length === 1 ? 'is' : 'are'} in use: ${names.join(', ')}${many}`,
  )
}
