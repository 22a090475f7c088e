import { type Span, spanOf } from '../calendar/span.ts'
import { ledgerTime } from '../calendar/worker-ledger.ts'
import type { LabletDefinition } from '../definition/lablet-definition.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { WORKER_BOOT_MS, waitsForCapacity } from './decide-capacity-wait.ts'
import { purchases } from './decide-scale-up.ts'
import { demandOf } from './demand.ts'
import { type FreeCapacity, freeCapacityOf } from './free-capacity.ts'
import type { LabletSession } from './lablet-session.ts'
import { bestOf } from './placement.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-types.ts'
import { movedAt } from './session-health.ts'
import { movedAwayFrom } from './session-move-request.ts'
import { type CapacityByWorker, capacitiesFor, take, type Waiting } from './waiting-session.ts'

const MINUTE_MS = 60_000

type Due = Pick<SchedulingInput, 'definitions' | 'settings' | 'timings'>

/** When a session is placed: as early as the settings say, or earlier if its lab and a new machine for it need longer. */
export function dueMs({ definition, timeslot }: LabletSession, { definitions, settings, timings }: Due): number {
  const known = definitions.get(definition.id)
  const needsMs = known === undefined ? 0 : timings.leadMs(known, settings) + WORKER_BOOT_MS
  return toMs(timeslot.start) - Math.max(settings.schedule_ahead_minutes * MINUTE_MS, needsMs)
}

/** The same rule for a session that was just booked and for one that a list shows. */
export const isDue = (session: LabletSession, due: Due, nowMs: number): boolean =>
  isWaiting(session) && dueMs(session, due) <= nowMs

/** A canceled session that is not placed yet needs no scheduler. */
const isWaiting = ({ status, desired_status }: LabletSession): boolean =>
  status === 'PENDING' && desired_status === 'RUNNING'

/**
 * One cycle. Sessions are placed one after another against a copy that shrinks, so no two get the same capacity. Sessions whose
 * lab was lost come first; a session that may leave its worker does so only for capacity that is there, and for a lab that boots
 * before its timeslot ends.
 */
export function schedule(input: SchedulingInput): SchedulingStep[] {
  const { sessions, workers, leaving, nowMs } = input
  const isToPlace = (session: LabletSession) => isDue(session, input, nowMs) || leaving.has(session.id)
  const isEnded = ({ timeslot }: LabletSession) => toMs(timeslot.end) <= nowMs
  const expired = sessions
    .filter(session => isWaiting(session) && isEnded(session))
    .map((session): SchedulingStep => ({ kind: 'expire', session, because: reason('timeslot_over') }))
  const time = ledgerTime(nowMs, input.timings)
  const capacities: CapacityByWorker = new Map(workers.map(worker => [worker.id, freeCapacityOf(worker, time)]))
  const cycle: Cycle = { ...input, capacities, reserved: workersBySession(workers) }
  const attempts = sessions
    .filter(session => isToPlace(session) && !isEnded(session))
    .sort(byUrgency(nowMs))
    .map(session => attempt(session, cycle))
  const unplaced = attempts.flatMap(({ waiting }) => waiting ?? [])
  const { waits, left } = waitsForCapacity(unplaced, capacities, input)
  return [...expired, ...attempts.flatMap(({ step }) => step ?? []), ...waits, ...purchases(left, capacities, input)]
}

/** When a session needs its capacity, if it is placed now. */
const spanFrom = (session: LabletSession, definition: LabletDefinition, { timings, settings, nowMs }: Cycle): Span => {
  const { fromMs, untilMs } = spanOf(session, definition, timings, settings)
  return { fromMs: Math.max(fromMs, nowMs), untilMs }
}

interface Cycle extends SchedulingInput {
  readonly capacities: CapacityByWorker
  /** By session id: the workers that hold a reservation for it. */
  readonly reserved: ReadonlyMap<string, readonly Worker[]>
}

/** What a cycle does about one session: a step, or a wait for capacity; neither for one that stays on its worker. */
interface Attempt {
  readonly step?: SchedulingStep
  readonly waiting?: Waiting
}

function attempt(session: LabletSession, cycle: Cycle): Attempt {
  const { definitions, leaving, reserved, capacities, settings, timings, nowMs } = cycle
  const leaves = leaving.get(session.id) ?? null
  const left = reserved.get(session.id) ?? []
  const assign = (worker_id: string, because: Reason): Attempt => ({
    step: { kind: 'assign', session, worker_id, because, leaves },
  })
  const begun = leaves === null ? left.find(worker => isHalfDone(session, worker)) : undefined
  if (begun !== undefined) return assign(begun.id, reason('capacity_already_reserved', { worker: begun.name }))
  const definition = definitions.get(session.definition.id)
  if (definition === undefined) {
    if (leaves !== null) return {}
    return { step: { kind: 'wait', session, because: reason('definition_deleted'), forGood: true } }
  }
  if (leaves !== null && toMs(session.timeslot.end) - nowMs <= timings.leadMs(definition, settings)) return {}
  const demand = { ...demandOf(definition, session.id, spanFrom(session, definition, cycle)), needs: session.needs }
  const waiting = { session, definition, demand, leftBehindOn: new Set(left.map(({ id }) => id)) }
  const capacity = bestElsewhere(waiting, capacities)
  if (capacity === null) return leaves === null ? { waiting } : {}
  take(capacities, capacity, waiting)
  return assign(capacity.worker.id, fullest(capacity))
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

function workersBySession(workers: readonly Worker[]): Map<string, Worker[]> {
  const reserved = new Map<string, Worker[]>()
  for (const worker of workers.filter(({ status }) => status !== 'TERMINATED'))
    for (const id of Object.keys(worker.reservations)) reserved.set(id, [...(reserved.get(id) ?? []), worker])
  return reserved
}

/**
 * A reservation is written before the session, so one that the session does not have yet is its own. A reservation from before it
 * became PENDING may be left from an earlier placement.
 */
function isHalfDone({ id, entered_status_at }: LabletSession, { reservations }: Worker): boolean {
  const since = reservations[id]?.since
  return since !== undefined && since >= entered_status_at
}
