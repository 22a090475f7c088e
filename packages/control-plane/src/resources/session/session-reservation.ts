import { refusedBy } from '@lcm/contract/problems'
import { labStartBlock } from '@lcm/domain/calendar/lab-start-block'
import { fits } from '@lcm/domain/calendar/machine-calendar'
import { ledgerTime, usedBy, withoutReservation, withTimes } from '@lcm/domain/calendar/worker-ledger'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { freeCapacityOf } from '@lcm/domain/session/free-capacity'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict } from '../../system-actor.ts'
import { type Fenced, raiseDocumentFence } from '../service/term-fencing.ts'
import { currentTimings } from '../timing/queries.ts'
import { changeWorker } from '../worker/change-worker.ts'

const MINUTE_MS = 60_000

/**
 * Permits the start of a lab: the ledger records it first, so that of two sessions that wait for the same capacity only one starts. A
 * crash right after it leaves a start that is repeated.
 */
export async function permitLabStart(api: Api, request: Fenced, { id, worker_id }: LabletSession): Promise<void> {
  if (worker_id === null) return
  await changeWorker(api, asSystem(worker_id), (worker, now) => {
    const block = labStartBlock(worker, id)
    if (block !== null) throw refusedBy('no_capacity', block)
    if (worker.reservations[id]?.started_at !== null) return null
    return { worker: { ...withTimes(worker, id, { started_at: now }), fence: raiseDocumentFence(worker, request) } }
  })
}

/**
 * Reserves the capacity of a placed session until its new end. It is written before the session, so it never ends before it. Nothing
 * is reserved on a worker whose record was removed.
 */
export async function extendReservation(api: Api, session: LabletSession, end: Instant): Promise<void> {
  const { id, worker_id } = session
  if (worker_id === null || (await api.workers.get(worker_id)) === null) return
  const timings = await currentTimings(api)
  await changeWorker(api, asSystem(worker_id), (worker, now) => {
    const reservation = worker.reservations[id]
    const untilMs = toMs(end) + timings.teardownMs
    if (reservation === undefined || reservation.until === null || toMs(reservation.until) >= untilMs) return null
    const fromMs = toMs(reservation.until)
    const { calendar } = freeCapacityOf(withoutReservation(worker, id), ledgerTime(toMs(now), timings))
    const isFree = (byMs: number) => fits(calendar, { fromMs, untilMs: fromMs + byMs }, usedBy(reservation))
    if (!isFree(untilMs - fromMs)) {
      const minutes = mostMinutes((untilMs - fromMs) / MINUTE_MS, each => isFree(each * MINUTE_MS))
      throw refusedBy('no_capacity_at_that_time', reason('extension_exceeds_capacity', { minutes }))
    }
    return { worker: withTimes(worker, id, { until: toInstant(untilMs) }) }
  })
}

function mostMinutes(refused: number, isFree: (minutes: number) => boolean): number {
  let minutes = 0
  while (minutes + 1 < refused && isFree(minutes + 1)) minutes += 1
  return minutes
}

/** A session that ends early needs its capacity no longer than its teardown takes. */
export async function shortenReservation(api: Api, { id, worker_id }: LabletSession): Promise<void> {
  if (worker_id === null) return
  const timings = await currentTimings(api)
  await nullOnConflict(
    changeWorker(api, asSystem(worker_id), (worker, now) => {
      const until = worker.reservations[id]?.until ?? null
      const goneMs = toMs(now) + timings.teardownMs
      if (until === null || toMs(until) <= goneMs) return null
      return { worker: withTimes(worker, id, { until: toInstant(goneMs) }) }
    }),
  )
}

/** A lab that may run without its session keeps its capacity until a scan has seen it gone. */
export const holdReservation = (worker: Worker, sessionId: string): Worker =>
  withTimes(worker, sessionId, { until: null })
