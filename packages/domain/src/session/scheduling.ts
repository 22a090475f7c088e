import { spanOf } from '../calendar/span.ts'
import { ledgerTime } from '../calendar/worker-ledger.ts'
import { AUTO } from '../fleet/settings.ts'
import { toMs } from '../instant.ts'
import { PLAN_HORIZON_MS, type Plan, type PlannedMachine, type PlannedStep } from '../plan/plan.ts'
import { planFleet } from '../plan/plan-fleet.ts'
import { plannedPlace } from '../plan/planned-place.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { arrivalOf, isArriving } from './decide-capacity-wait.ts'
import { holdersOf, whyUnplaced } from './decide-scale-up.ts'
import { demandOf } from './demand.ts'
import { type FreeCapacity, freeCapacityOf } from './free-capacity.ts'
import { isFinal, type LabletSession } from './lablet-session.ts'
import { bestOf, refusalOf } from './placement.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-types.ts'
import { movedAt } from './session-health.ts'
import { movedAwayFrom } from './session-move-request.ts'
import { type CapacityByWorker, capacitiesFor, take, type Waiting } from './waiting-session.ts'

const MINUTE_MS = 60_000
/** A cycle that is due a moment later would do nothing else. */
const SLACK_MS = 2_000

export interface Schedule {
  readonly plan: Plan
  readonly steps: readonly SchedulingStep[]
  /** Sessions that are placed later: when, and what the plan has for them. */
  readonly later: readonly { readonly session: LabletSession; readonly atMs: number; readonly because: Reason }[]
  /** When the plan has something to do next; infinite if never. */
  readonly nextMs: number
}

/** A canceled session that is not placed yet needs no scheduler. */
export const isWaiting = ({ status, desired_status }: LabletSession): boolean =>
  status === 'PENDING' && desired_status === 'RUNNING'

/**
 * One cycle: plans the next days, and carries out what is due of it now. Sessions whose lab was lost come first: they take any
 * capacity that is free. A session that may leave its worker does so only for capacity that is there.
 */
export function schedule(input: SchedulingInput): Schedule {
  const { sessions, workers, leaving, nowMs } = input
  const isEnded = ({ timeslot }: LabletSession) => toMs(timeslot.end) <= nowMs
  const expired = sessions
    .filter(session => isWaiting(session) && isEnded(session))
    .map((session): SchedulingStep => ({ kind: 'expire', session, because: reason('timeslot_over') }))
  const capacities: CapacityByWorker = new Map(
    workers.map(worker => [worker.id, freeCapacityOf(worker, ledgerTime(nowMs, input.timings))]),
  )
  const byId = new Map(sessions.map(session => [session.id, session]))
  const cycle: Cycle = { ...input, byId, capacities, reserved: workersBySession(workers) }
  const going = sessions.filter(session => !isEnded(session)).toSorted(byUrgency(nowMs))
  const isPatient = ({ id, timeslot }: LabletSession) => leaving.has(id) && toMs(timeslot.start) > nowMs
  const urgent = going.filter(each => !isPatient(each)).flatMap(each => urgentStep(each, cycle) ?? [])
  const placed = new Map(urgent.map(step => [step.session.id, step]))
  const plan = planFleet({
    ...input,
    bestEffort: new Set(sessions.filter(({ admission }) => admission.kind === 'best_effort').map(({ id }) => id)),
    lost: new Set(going.filter(each => isWaiting(each) && lossOf(each, nowMs) > 0).map(({ id }) => id)),
    workers: [...capacities.values()].map(({ worker }) => worker),
    sessions: sessions.filter(each => isInHorizon(each, nowMs)).map(each => afterStep(each, placed.get(each.id))),
  })
  const rest = carriedOut(
    plan,
    sessions.filter(each => isWaiting(each) && !isEnded(each) && !placed.has(each.id) && isInHorizon(each, nowMs)),
    cycle,
  )
  const patient = going.filter(isPatient).flatMap(each => urgentStep(each, cycle) ?? [])
  return { ...rest, plan, steps: [...expired, ...urgent, ...rest.steps, ...patient] }
}

const isInHorizon = (session: LabletSession, nowMs: number): boolean =>
  session.worker_id !== null
    ? !isFinal(session.status)
    : isWaiting(session) && toMs(session.timeslot.start) <= nowMs + PLAN_HORIZON_MS

type StepOf<K extends SchedulingStep['kind']> = Extract<SchedulingStep, { kind: K }>

const afterStep = (session: LabletSession, step: StepOf<'assign' | 'wait'> | undefined): LabletSession =>
  step?.kind === 'assign' ? { ...session, status: 'SCHEDULED', worker_id: step.worker_id } : session

interface Cycle extends SchedulingInput {
  readonly byId: ReadonlyMap<string, LabletSession>
  readonly capacities: CapacityByWorker
  /** By session id: the workers that hold a reservation for it. */
  readonly reserved: ReadonlyMap<string, readonly Worker[]>
}

/** The step of a session that is decided before the rest is planned; null if the plan has it. */
function urgentStep(session: LabletSession, cycle: Cycle): StepOf<'assign' | 'wait'> | null {
  const { definitions, leaving, reserved, capacities, timings, settings, nowMs } = cycle
  const leaves = leaving.get(session.id) ?? null
  if (leaves === null && !isWaiting(session)) return null
  const assign = (worker_id: string, because: Reason) => ({
    ...({ kind: 'assign', session, worker_id, because, leaves } as const),
  })
  const left = reserved.get(session.id) ?? []
  const begun = leaves === null ? left.find(worker => isHalfDone(session, worker)) : undefined
  if (begun !== undefined) return assign(begun.id, reason('capacity_already_reserved', { worker: begun.name }))
  const definition = definitions.get(session.definition.id)
  if (definition === undefined) {
    const isDue = leaves === null && toMs(session.timeslot.start) <= nowMs + PLAN_HORIZON_MS
    return isDue ? { kind: 'wait', session, because: reason('definition_deleted'), forGood: true } : null
  }
  const isLost = lossOf(session, nowMs) > 0 || leaves !== null || movedAwayFrom(session) !== null
  if (!isLost || (leaves !== null && toMs(session.timeslot.end) - nowMs <= timings.leadMs(definition, settings)))
    return null
  const waiting = waitingOf(session, cycle)
  const capacity = waiting === null ? null : bestElsewhere(waiting, capacities)
  if (waiting === null || capacity === null) return null
  take(capacities, capacity, waiting)
  return assign(capacity.worker.id, fullest(capacity))
}

function waitingOf(session: LabletSession, cycle: Cycle): Waiting | null {
  const { definitions, reserved, timings, settings, nowMs } = cycle
  const definition = definitions.get(session.definition.id)
  if (definition === undefined) return null
  const { fromMs, untilMs } = spanOf(session, definition, timings, settings)
  const span = { fromMs: Math.max(fromMs, nowMs), untilMs }
  const demand = { ...demandOf(definition, session.id, span), needs: session.needs }
  const leftBehindOn = new Set((reserved.get(session.id) ?? []).map(({ id }) => id))
  return { session, definition, demand, leftBehindOn }
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

type Rest = Pick<Schedule, 'steps' | 'later' | 'nextMs'>

/** Assigns the sessions that are due, if the plan has them where they fit now. The others wait, and the next plan may move them. */
function carriedOut(plan: Plan, sessions: readonly LabletSession[], cycle: Cycle): Rest {
  const { nowMs, capacities } = cycle
  const hosts = new Map(plan.machines.flatMap(machine => machine.session_ids.map(id => [id, machine] as const)))
  const starts = new Map(plan.machines.flatMap(machine => startOf(machine, nowMs)))
  const unplaced = new Map(plan.unplaced.map(({ session_id, because }) => [session_id, because]))
  const holders = holdersOf(cycle)
  const steps: SchedulingStep[] = []
  const later: Rest['later'][number][] = []
  for (const session of sessions.toSorted(byUrgency(nowMs))) {
    const waiting = waitingOf(session, cycle)
    if (waiting === null) continue
    const machine = hosts.get(session.id) ?? null
    const worker = capacities.get(machine?.worker_id ?? '')?.worker ?? null
    const atMs = dueMs(waiting, cycle)
    if (atMs > nowMs + SLACK_MS) {
      if (machine !== null)
        later.push({ session, atMs, because: plannedPlace(machine, worker, { session, sessions: cycle.byId }) })
      continue
    }
    const capacity = worker === null ? undefined : capacities.get(worker.id)
    if (worker !== null && capacity !== undefined && refusalOf(waiting.demand, capacity) === null) {
      take(capacities, capacity, waiting)
      const because = reason('placed_as_planned', { worker: worker.name })
      steps.push({ kind: 'assign', session, worker_id: worker.id, because, leaves: null })
      continue
    }
    const isStarted = machine !== null && starts.has(machine)
    const wait =
      machine === null || (isStarted && worker === null)
        ? whyUnplaced(waiting, {
            machine,
            because: unplaced.get(session.id) ?? null,
            holders,
            capacities,
            input: cycle,
          })
        : { because: whyNotYet(machine, waiting, { cycle, isStarted }), forGood: false }
    steps.push({ kind: 'wait', session, ...wait })
  }
  return {
    steps: [...steps, ...startSteps(starts, cycle), ...terminateSteps(plan)],
    later,
    nextMs: nextMomentOf(plan, later, nowMs),
  }
}

/** When the session is placed: when its lab must start, or earlier where operators set a time. */
function dueMs({ session, definition }: Waiting, { timings, settings }: Cycle): number {
  const { schedule_ahead_minutes: ahead } = settings
  if (ahead !== AUTO) return toMs(session.timeslot.start) - ahead * MINUTE_MS
  return spanOf(session, definition, timings, settings).fromMs
}

/** The start or purchase of the machine, if it is due now. */
function startOf(machine: PlannedMachine, nowMs: number): [PlannedMachine, PlannedStep][] {
  const step = machine.steps.find(isStart)
  return step === undefined || toMs(step.at) > nowMs + SLACK_MS ? [] : [[machine, step]]
}

const isStart = ({ kind }: PlannedStep): boolean => kind === 'wake' || kind === 'buy'

/** One purchase per template and hour: a purchase never waits for one of another hour. */
function startSteps(starts: ReadonlyMap<PlannedMachine, PlannedStep>, { sessions, region }: Cycle): SchedulingStep[] {
  const startsAt = new Map(sessions.map(({ id, timeslot }) => [id, timeslot.start]))
  const resumes: SchedulingStep[] = []
  const purchases = new Map<string, StepOf<'scale_up'>>()
  for (const [{ worker_id, template_name }, { session_ids, because }] of starts) {
    if (worker_id !== null) {
      resumes.push({ kind: 'resume', worker_id, session_ids, because })
      continue
    }
    const group = (session_ids.map(id => startsAt.get(id) ?? '').toSorted()[0] ?? '').slice(0, 13)
    const key = `${template_name} ${group}`
    const before = purchases.get(key)
    const ids = [...(before?.session_ids ?? []), ...session_ids]
    purchases.set(key, {
      ...{ kind: 'scale_up', template_name, aws_region: region, group },
      ...{ count: (before?.count ?? 0) + 1, session_ids: ids },
      because: reason('no_capacity_for_sessions', { sessions: ids.length }),
    })
  }
  return [...resumes, ...purchases.values()]
}

const terminateSteps = ({ machines }: Plan): SchedulingStep[] =>
  machines.flatMap(({ worker_id, steps }) => {
    const step = steps.find(({ kind }) => kind === 'terminate')
    return worker_id === null || step === undefined ? [] : [{ kind: 'terminate', worker_id, because: step.because }]
  })

/** Why a session is not on its machine yet. */
function whyNotYet(
  machine: PlannedMachine,
  waiting: Waiting,
  { cycle, isStarted }: { cycle: Cycle; isStarted: boolean },
): Reason {
  const capacity = cycle.capacities.get(machine.worker_id ?? '')
  const worker = capacity?.worker ?? null
  if (worker === null || capacity === undefined)
    return plannedPlace(machine, null, { session: waiting.session, sessions: cycle.byId })
  if (isStarted) return reason('waiting_for_resume', { worker: worker.name })
  if (isArriving(worker, cycle.nowMs)) return arrivalOf(worker)
  const refusal = worker.desired_status === 'RUNNING' ? refusalOf(waiting.demand, capacity) : null
  return refusal?.because() ?? plannedPlace(machine, worker, { session: waiting.session, sessions: cycle.byId })
}

function nextMomentOf({ machines }: Plan, later: Rest['later'], nowMs: number): number {
  const steps = machines.flatMap(each => each.steps.filter(isStart))
  const moments = [...later.map(({ atMs }) => atMs), ...steps.map(({ at }) => toMs(at))]
  return Math.min(...moments.filter(ms => ms > nowMs + SLACK_MS))
}
