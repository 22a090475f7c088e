import type { SettingValues } from '../fleet/settings.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { bootLeadMs } from './boot-lead.ts'
import { waitsForCapacity } from './decide-capacity-wait.ts'
import { purchases } from './decide-scale-up.ts'
import { type FreeCapacity, freeCapacityOf } from './free-capacity.ts'
import type { LabletSession } from './lablet-session.ts'
import { bestOf, demandOf } from './placement.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-types.ts'
import { movedAt } from './session-health.ts'
import { movedAwayFrom } from './session-move-request.ts'
import { type CapacityByWorker, capacitiesFor, take, type Waiting } from './waiting-session.ts'

const MINUTE_MS = 60_000

/** The same rule for a session that was just booked and for one that a list shows. */
export const isDue = (
  session: LabletSession,
  settings: Pick<SettingValues, 'schedule_ahead_minutes'>,
  nowMs: number,
): boolean => isWaiting(session) && toMs(session.timeslot.start) <= nowMs + settings.schedule_ahead_minutes * MINUTE_MS

/** A canceled session that is not placed yet needs no scheduler. */
const isWaiting = ({ status, desired_status }: LabletSession): boolean =>
  status === 'PENDING' && desired_status === 'RUNNING'

/**
 * One cycle. Sessions are placed one after another against a copy that shrinks, so no two get the same capacity. Sessions whose
 * lab was lost come first; a session that may leave its worker does so only for capacity that is there, and for a lab that boots
 * before its timeslot ends.
 */
export function schedule(input: SchedulingInput): SchedulingStep[] {
  const { nowMs, settings, leaving } = input
  const isOver = ({ timeslot }: LabletSession) => toMs(timeslot.end) <= nowMs
  const isToPlace = (session: LabletSession) => isDue(session, settings, nowMs) || leaving.has(session.id)
  const due = input.sessions.filter(session => isToPlace(session) && !isOver(session)).sort(byUrgency(nowMs))
  const over = input.sessions.filter(session => isWaiting(session) && isOver(session))
  const steps: SchedulingStep[] = over.map(session => ({ kind: 'expire', session, because: reason('timeslot_over') }))
  const capacities: CapacityByWorker = new Map(input.workers.map(worker => [worker.id, freeCapacityOf(worker)]))
  const holders = holdersOf(input.workers)
  const unplaced: Waiting[] = []
  for (const session of due) {
    const definition = input.definitions.get(session.definition.id)
    const left = holders.get(session.id) ?? []
    const leaves = leaving.get(session.id) ?? null
    const holder = leaves === null ? left.find(worker => isHalfDone(session, worker)) : undefined
    if (holder !== undefined) {
      const because = reason('capacity_already_reserved', { worker: holder.name })
      steps.push({ kind: 'assign', session, worker_id: holder.id, because, leaves })
    } else if (definition === undefined) {
      if (leaves === null) steps.push({ kind: 'wait', session, because: reason('definition_deleted'), forGood: true })
    } else if (leaves === null || toMs(session.timeslot.end) - nowMs > bootLeadMs(definition, settings, true)) {
      const demand = { ...demandOf(definition, session.id), needs: session.needs }
      const waiting = { session, definition, demand, leftBehindOn: new Set(left.map(({ id }) => id)) }
      const capacity = bestElsewhere(waiting, capacities)
      if (capacity !== null) {
        take(capacities, capacity, waiting)
        steps.push({ kind: 'assign', session, worker_id: capacity.worker.id, because: fullest(capacity), leaves })
      } else if (leaves === null) unplaced.push(waiting)
    }
  }
  const { waits, left } = waitsForCapacity(unplaced, capacities, input)
  return [...steps, ...waits, ...purchases(left, capacities, input)]
}

/** Sessions that lost their lab come first, then those whose lab may come back, then all by start. */
const byUrgency =
  (nowMs: number) =>
  (a: LabletSession, b: LabletSession): number =>
    lossOf(b, nowMs) - lossOf(a, nowMs) ||
    compare(a.timeslot.start, b.timeslot.start) ||
    compare(a.created_at, b.created_at) ||
    compare(a.id, b.id)
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Users miss a lab only within the timeslot. A session that is up leaves a worker that may come back. */
function lossOf(session: LabletSession, nowMs: number): number {
  if (toMs(session.timeslot.start) > nowMs) return 0
  if (session.status !== 'PENDING') return 1
  return movedAt(session) === null ? 0 : 2
}

/** The worker that a person moved the session away from comes last. */
function bestElsewhere(waiting: Waiting, capacities: CapacityByWorker): FreeCapacity | null {
  const { session, demand, leftBehindOn } = waiting
  const away = movedAwayFrom(session)
  const elsewhere = { ...waiting, leftBehindOn: away === null ? leftBehindOn : new Set([...leftBehindOn, away]) }
  return bestOf(demand, capacitiesFor(elsewhere, capacities)) ?? bestOf(demand, capacitiesFor(waiting, capacities))
}

const fullest = ({ worker, score }: FreeCapacity): Reason =>
  reason(score > 0 ? 'placed_on_fullest' : 'placed_on_empty', { worker: worker.name })

/** By session id: the workers that hold a reservation for it. */
function holdersOf(workers: readonly Worker[]): Map<string, Worker[]> {
  const holders = new Map<string, Worker[]>()
  for (const worker of workers.filter(({ status }) => status !== 'TERMINATED'))
    for (const id of Object.keys(worker.reservations)) holders.set(id, [...(holders.get(id) ?? []), worker])
  return holders
}

/**
 * A reservation is written before the session, so one that the session does not have yet is its own. A reservation from before it
 * became PENDING may be left from an earlier placement.
 */
function isHalfDone({ id, entered_status_at }: LabletSession, { reservations }: Worker): boolean {
  const since = reservations[id]?.since
  return since !== undefined && since >= entered_status_at
}
