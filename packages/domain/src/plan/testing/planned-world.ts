import { withoutReservation } from '../../calendar/worker-ledger.ts'
import { toMs } from '../../instant.ts'
import type { LabletSession } from '../../session/lablet-session.ts'
import type { Worker } from '../../worker/worker.ts'
import type { Plan, PlannedMachine, PlannedStep } from '../plan.ts'
import { planFleet } from '../plan-fleet.ts'
import type { PlanInput } from '../plan-input.ts'
import { faultsOf } from './check-plan.ts'
import { anInput, arriving, at, booked, MINUTE, NOW, reservedFor, sleeping } from './plan-fixtures.ts'

/** In minutes. */
export interface DrawnSession {
  readonly bookedAt: number
  /** From its booking until its slot begins. */
  readonly notice: number
  readonly length: number
  /** How long its learner stays at most. */
  readonly stays: number
  /** When it is canceled after its booking; null if it is not. */
  readonly canceledAfter: number | null
  readonly cpu: number
}

export interface WorldOptions {
  readonly workers: readonly Worker[]
  readonly settings: PlanInput['settings']
  /** How long boots take, in minutes, one after another. */
  readonly boots: readonly number[]
}

export interface PlayedWorld {
  readonly faults: string[]
  plans: number
  starts: number
  admitted: number
}

const LEAD = 5
const TEARDOWN = 1
const STOP = 5
/** A session that begins sooner could not be moved to a machine that sleeps. */
const NEAR = 25
const LAST_MINUTE = 900
/** A plan is replaced by one that is so much cheaper. */
const CHEAPER_USD = 0.45

interface State extends WorldOptions {
  now: number
  readonly played: PlayedWorld
  readonly machines: Map<string, Worker>
  readonly sessions: Map<string, LabletSession>
  readonly later: Map<number, (() => void)[]>
  readonly canceled: Set<string>
  /** By worker: the sessions that it was started for, until one is placed on it. */
  readonly startedFor: Map<string, readonly string[]>
  /** By worker: the sessions that were near when it was stopped. */
  readonly nearAtStop: Map<string, ReadonlySet<string>>
  previous: Plan | null
}

/**
 * Carries plans out on virtual time, with a new one at every change. A booking that the plan can't place is refused. Faults are those of
 * each plan, and what a plan must never do from one to the next.
 */
export function playWorld(drawn: readonly DrawnSession[], options: WorldOptions): PlayedWorld {
  const state: State = {
    ...{ ...options, now: 0, previous: null, played: { faults: [], plans: 0, starts: 0, admitted: 0 } },
    ...{ machines: new Map(), sessions: new Map(), later: new Map(), canceled: new Set() },
    ...{ startedFor: new Map(), nearAtStop: new Map() },
  }
  for (const worker of options.workers) state.machines.set(worker.id, worker)
  for (const [index, session] of drawn.entries())
    inMinutes(state, session.bookedAt, () => book(state, `s-${index}`, session))
  inMinutes(state, 0, () => undefined)
  for (; state.now <= LAST_MINUTE; state.now += 1) {
    const events = state.later.get(state.now)
    if (events === undefined) continue
    for (const event of events) event()
    decide(state)
  }
  return state.played
}

function inMinutes(state: State, minutes: number, event: () => void): void {
  const minute = state.now + Math.max(0, minutes)
  state.later.set(minute, [...(state.later.get(minute) ?? []), event])
}

const inputOf = ({ now, sessions, machines, settings, previous }: State): PlanInput =>
  anInput({
    nowMs: NOW + now * MINUTE,
    sessions: [...sessions.values()],
    workers: [...machines.values()],
    settings,
    previous,
  })

const minuteOf = (instant: string): number => Math.ceil((toMs(instant) - NOW) / MINUTE)

function book(state: State, id: string, { notice, length, stays, canceledAfter, cpu }: DrawnSession): void {
  const { now, sessions } = state
  const start = now + notice
  sessions.set(id, booked(id, cpu, [start, start + length], { created_at: at(now) }))
  const plan = planFleet(inputOf(state))
  if (plan.unplaced.length > 0) {
    sessions.delete(id)
    return
  }
  state.played.admitted += 1
  inMinutes(state, notice + Math.min(length, stays), () => end(state, id))
  if (canceledAfter !== null && canceledAfter < notice)
    inMinutes(state, canceledAfter, () => {
      state.canceled.add(id)
      end(state, id)
    })
}

function end(state: State, id: string): void {
  const { sessions, machines, now } = state
  const session = sessions.get(id)
  if (session === undefined || session.status === 'STOPPING') return
  const { worker_id } = session
  if (worker_id === null) sessions.delete(id)
  else {
    sessions.set(id, { ...session, status: 'STOPPING', entered_status_at: at(now) })
    inMinutes(state, TEARDOWN, () => {
      sessions.delete(id)
      const worker = machines.get(worker_id)
      if (worker !== undefined) machines.set(worker_id, withoutReservation(worker, id))
    })
  }
}

function decide(state: State): void {
  const { played } = state
  const input = inputOf(state)
  const plan = planFleet(input)
  played.plans += 1
  played.faults.push(...faultsOf(input, plan))
  for (const { session_id } of plan.unplaced) played.faults.push(`${session_id} was admitted and has no machine`)
  const again = planFleet({ ...input, previous: plan })
  if (JSON.stringify(again) !== JSON.stringify(plan) && again.usd > plan.usd - CHEAPER_USD)
    played.faults.push('an unchanged world has another plan')
  state.previous = plan
  for (const machine of plan.machines) {
    for (const id of machine.session_ids) assign(state, machine, id)
    for (const step of machine.steps)
      if (minuteOf(step.at) > state.now) {
        inMinutes(state, minuteOf(step.at) - state.now, () => undefined)
        break
      } else carryOut(state, machine, step)
  }
}

function assign(state: State, { worker_id, late_starts }: PlannedMachine, id: string): void {
  const { sessions, machines, now, startedFor } = state
  const session = sessions.get(id)
  const worker = machines.get(worker_id ?? '')
  if (session === undefined) return
  const from = minuteOf(late_starts?.[id] ?? session.timeslot.start) - (late_starts?.[id] === undefined ? LEAD : 0)
  if (from > now) {
    inMinutes(state, from - now, () => undefined)
    return
  }
  const hasNotice = minuteOf(session.timeslot.start) - minuteOf(session.created_at) >= NEAR + LEAD + STOP
  if (hasNotice && now > minuteOf(session.timeslot.start) - LEAD) state.played.faults.push(`${id} is late`)
  if (worker?.service_status !== 'AVAILABLE') return
  const reserved = reservedFor(worker, session)
  const cpu = Object.values(reserved.reservations).reduce((sum, each) => sum + each.cpu_cores, 0)
  if (cpu > (worker.capacity.declared?.cpu_cores ?? 0) + 1e-6) {
    state.played.faults.push(`${id} does not fit on ${worker.id}`)
    return
  }
  machines.set(worker.id, { ...reserved, wanted_by: worker.wanted_by.filter(each => each !== id) })
  sessions.set(id, { ...session, status: 'SCHEDULED', worker_id: worker.id })
  startedFor.delete(worker.id)
}

function carryOut(state: State, { worker_id }: PlannedMachine, { kind, session_ids, because }: PlannedStep): void {
  const { machines, played } = state
  const worker = machines.get(worker_id ?? '')
  if (kind === 'buy') {
    const spare = [...machines.values()].find(each => each.status === 'STOPPED' && !isUsed(state, each.id))
    if (spare !== undefined)
      played.faults.push(`a machine is bought for ${session_ids.join(', ')}, and ${spare.id} sleeps`)
    start(state, `w-${machines.size + 1}`, session_ids, true)
  }
  if (kind === 'wake' && worker !== undefined) {
    const near = state.nearAtStop.get(worker.id)
    if (near !== undefined && session_ids.every(id => near.has(id)))
      played.faults.push(`${worker.id} was stopped and is woken for ${session_ids.join(', ')}`)
    start(state, worker.id, session_ids, false)
  } else if (kind === 'stop' && worker !== undefined && Object.keys(worker.reservations).length === 0) {
    const missed = state.startedFor.get(worker.id)?.filter(id => state.sessions.has(id)) ?? []
    if (missed.length > 0) played.faults.push(`${worker.id} was started in vain for ${missed.join(', ')}`)
    stop(state, worker, because)
  }
}

const isUsed = ({ previous }: State, id: string): boolean =>
  previous?.machines.some(({ worker_id, session_ids }) => worker_id === id && session_ids.length > 0) === true

function start(state: State, id: string, wanted_by: readonly string[], isNew: boolean): void {
  const { machines, played, now, boots } = state
  played.starts += 1
  const cml = isNew ? { ...arriving(id, 0).cml, version: null } : arriving(id, 0).cml
  const began = { ...arriving(id, 0), entered_status_at: at(now), wanted_by: [...wanted_by], cml }
  const pause = { ...began.pause, last_resumed_at: at(now) }
  const stopping = machines.get(id)?.status === 'STOPPING'
  const bootMinutes = (boots[played.starts % boots.length] ?? 1) + (isNew ? LEAD : 0)
  machines.set(id, { ...began, pause, created_at: machines.get(id)?.created_at ?? at(now) })
  state.startedFor.set(id, wanted_by)
  inMinutes(state, bootMinutes + (stopping ? STOP : 0), () => {
    const worker = machines.get(id)
    if (worker?.status !== 'STARTING' || worker.pause.last_resumed_at !== pause.last_resumed_at) return
    const { cml: served } = arriving(id, 0)
    machines.set(id, {
      ...worker,
      status: 'RUNNING',
      service_status: 'AVAILABLE',
      cml: served,
      entered_status_at: at(state.now),
    })
  })
}

function stop(state: State, worker: Worker, because: PlannedStep['because']): void {
  const { machines, sessions, now, nearAtStop, startedFor } = state
  const near = [...sessions.values()].filter(
    ({ status, timeslot }) => status === 'PENDING' && minuteOf(timeslot.start) - LEAD < now + NEAR,
  )
  nearAtStop.set(worker.id, new Set(near.map(({ id }) => id)))
  startedFor.delete(worker.id)
  const stopped = { ...sleeping(worker.id), cml: worker.cml, created_at: worker.created_at }
  const pause = { ...stopped.pause, reason: because }
  // Its stop is requested first, and a plan is made while it still runs.
  machines.set(worker.id, { ...worker, desired_status: 'STOPPED', pause, wanted_by: [] })
  inMinutes(state, 1, () => {
    const asked = machines.get(worker.id)
    if (asked?.desired_status !== 'STOPPED' || asked.status !== 'RUNNING') return
    machines.set(worker.id, { ...stopped, pause, status: 'STOPPING', entered_status_at: at(now + 1) })
    inMinutes(state, STOP, () => {
      const later = machines.get(worker.id)
      if (later?.status === 'STOPPING' && later.entered_status_at === at(now + 1))
        machines.set(worker.id, { ...later, status: 'STOPPED', entered_status_at: at(state.now) })
    })
  })
}
