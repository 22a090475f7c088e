import { labStartBlock } from '@lcm/domain/calendar/lab-start-block'
import { timingsOf } from '@lcm/domain/calendar/timings'
import { timesOf, withReservation, withTimes } from '@lcm/domain/calendar/worker-ledger'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { afterSession } from '@lcm/domain/fleet/activity-evidence'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { demandOf } from '@lcm/domain/session/demand'
import type { LabletSession, SessionStatus } from '@lcm/domain/session/lablet-session'
import { place } from '@lcm/domain/session/placement'
import { aDefinition, aSession } from '@lcm/testkit/test-data-builders'
import { labStartMs, teardownMs } from './cloud-times.ts'
import type { Playing } from './event-queue.ts'
import type { Fleet } from './fleet.ts'
import { HORIZON_MS, type OpenSession, type Order } from './policy.ts'
import { type Booking, LAB_SIZES, LABS } from './trace.ts'

export const DEFINITIONS: ReadonlyMap<string, LabletDefinition> = new Map(
  LAB_SIZES.map(size => [
    size,
    aDefinition({
      id: size,
      name: size,
      needs: LABS[size].needs,
      node_definitions_required: LABS[size].nodes,
      max_duration_minutes: 1440,
    }),
  ]),
)

/** One booking and what became of it. */
export interface Outcome {
  readonly booking: Booking
  /** When its lab was READY; null if it never was. */
  readonly readyMs: number | null
}

interface Played extends OpenSession {
  readonly booking: Booking
  session: LabletSession
  hasLab: boolean
  readyMs: number | null
}

type AssignOrder = Extract<Order, { kind: 'assign' }>

/** The sessions of a trace on virtual time, as session documents. */
export interface Sessions {
  readonly open: () => readonly OpenSession[]
  readonly assign: (order: AssignOrder) => void
  readonly labStartsMs: ReadonlyMap<string, readonly number[]>
  readonly teardownsMs: readonly number[]
  readonly outcomes: () => readonly Outcome[]
}

export interface SessionsParts extends Playing {
  readonly fleet: Fleet
}

interface SessionsState extends SessionsParts {
  /** By booking id, from when policies see it until its capacity is free. */
  readonly open: Map<string, Played>
  readonly labStartsMs: Map<string, number[]>
  readonly teardownsMs: number[]
}

export function sessions(bookings: readonly Booking[], parts: SessionsParts): Sessions {
  const { queue } = parts
  const state: SessionsState = { ...parts, open: new Map(), labStartsMs: new Map(), teardownsMs: [] }
  const played: Played[] = []
  for (const booking of bookings) {
    const seenMs = Math.max(booking.bookedMs, booking.startMs - HORIZON_MS)
    const { canceledMs, leftMs } = booking
    if (canceledMs !== null && canceledMs <= seenMs) continue
    queue.at(seenMs, () => {
      const one = openSession(booking)
      state.open.set(booking.id, one)
      played.push(one)
      queue.at(canceledMs ?? leftMs, () => end(state, one))
    })
  }
  return {
    open: () => [...state.open.values()],
    labStartsMs: state.labStartsMs,
    teardownsMs: state.teardownsMs,
    outcomes: () => played.map(({ booking, readyMs }) => ({ booking, readyMs })),
    assign: order => assign(state, order),
  }
}

function move(state: SessionsState, one: Played, to: SessionStatus): void {
  const at = toInstant(state.now())
  const { status: from, state_history } = one.session
  const change = { from, to, at, because: reason('timeslot_started') }
  const moved = { status: to, entered_status_at: at, updated_at: at, state_history: [...state_history, change] }
  one.session = { ...one.session, ...moved }
}

function assign(state: SessionsState, { session_id, worker_id, labStartMs: startMs }: AssignOrder): void {
  const { open, fleet, queue, now } = state
  const one = open.get(session_id)
  const definition = DEFINITIONS.get(one?.booking.lab ?? '')
  if (one?.session.status !== 'PENDING' || definition === undefined)
    throw new Error(
      `The policy placed ${session_id}, which is ${one?.session.status ?? 'unknown'}. Place PENDING ones.`,
    )
  const span = { fromMs: Math.max(now(), startMs), untilMs: Math.max(now(), one.booking.endMs) + TEARDOWN_MS }
  const time = { nowMs: now(), teardownMs: TEARDOWN_MS }
  const [refusal] = place(demandOf(definition, session_id, span), [fleet.worker(worker_id)], time).refusals
  if (refusal !== undefined)
    throw new Error(
      `The policy placed ${session_id} on ${worker_id}: ${refusal.because.message}. Wait for its capacity.`,
    )
  const times = timesOf(span, toInstant(now()))
  fleet.change(worker_id, worker => withReservation(worker, session_id, definition.needs, times))
  forget(state, session_id)
  move(state, one, 'SCHEDULED')
  one.session = { ...one.session, worker_id }
  queue.at(Math.max(now(), startMs), () => startLab(state, one, worker_id), { isNews: false })
}

/** A lab whose capacity is not free yet is tried again after this long. */
const START_AGAIN_MS = 5_000
/** What the ledger expects before teardowns were measured. */
const TEARDOWN_MS = timingsOf([]).teardownMs

function startLab(state: SessionsState, one: Played, workerId: string): void {
  const { fleet, queue, now, random, labStartsMs } = state
  if (one.session.status !== 'SCHEDULED') return
  if (labStartBlock(fleet.worker(workerId), one.session.id) !== null) {
    queue.at(now() + START_AGAIN_MS, () => startLab(state, one, workerId), { isNews: false })
    return
  }
  fleet.change(workerId, worker => withTimes(worker, one.session.id, { started_at: toInstant(now()) }))
  move(state, one, 'INSTANTIATING')
  one.hasLab = true
  fleet.labStarts(workerId)
  const ms = labStartMs(random, one.booking.lab)
  const becomeReady = () => {
    if (one.session.status !== 'INSTANTIATING') return
    one.readyMs = now()
    move(state, one, 'READY')
    const known = labStartsMs.get(one.booking.lab) ?? []
    labStartsMs.set(one.booking.lab, known)
    known.push(ms)
  }
  queue.at(now() + ms, becomeReady, { isNews: false })
}

/** It was canceled, or its learner left. Its capacity is free when its lab is removed. */
function end(state: SessionsState, one: Played): void {
  const { worker_id } = one.session
  if (worker_id === null) {
    move(state, one, 'EXPIRED')
    state.open.delete(one.booking.id)
    forget(state, one.booking.id)
  } else {
    move(state, one, one.hasLab ? 'STOPPING' : 'STOPPED')
    const ms = one.hasLab ? teardownMs(state.random) : 0
    state.queue.at(state.now() + ms, () => {
      if (one.hasLab) state.teardownsMs.push(ms)
      release(state, one, worker_id)
    })
  }
}

function release({ fleet, open, now }: SessionsState, one: Played, workerId: string): void {
  if (one.hasLab) fleet.labEnds(workerId)
  fleet.change(workerId, worker => afterSession(worker, one.session.id, one.session, toInstant(now())))
  open.delete(one.booking.id)
}

/** Workers that were requested for it are not kept for it any more. */
function forget({ fleet }: SessionsState, id: string): void {
  for (const { id: workerId, wanted_by } of fleet.workers())
    if (wanted_by.includes(id))
      fleet.change(workerId, worker => ({ ...worker, wanted_by: worker.wanted_by.filter(each => each !== id) }))
}

function openSession(booking: Booking): Played {
  const { id, lab, bookedMs, startMs, endMs } = booking
  const session = aSession({
    id,
    created_at: toInstant(bookedMs),
    updated_at: toInstant(bookedMs),
    entered_status_at: toInstant(bookedMs),
    definition: { id: lab, name: lab, version: '1.0.0' },
    needs: LABS[lab].needs,
    timeslot: { start: toInstant(startMs), end: toInstant(endMs) },
  })
  return { booking, session, bookedMs, startMs, endMs, hasLab: false, readyMs: null }
}
