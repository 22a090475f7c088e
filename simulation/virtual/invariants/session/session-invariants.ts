import { isUp, nodeStateAt } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { isLabGone } from '@lcm/control-plane/resources/lab/is-lab-usable'
import { toMs } from '@lcm/domain/instant'
import { isQuiet, type LabRecord } from '@lcm/domain/lab/lab-record'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import type { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { overbooked, sharedPorts } from '@lcm/testkit/reservation-rules'
import { illegalMovesOfSession } from '@lcm/testkit/transition-rules'
import { CLOCK_MS_MAX } from '../../world/controller-process.ts'
import type { Disturbances } from '../../world/disturbances.ts'
import { MINUTE_MS } from '../../world/durations.ts'
import type { EventFollower, EventHandlers } from '../../world/event-follower.ts'
import type { SettingsHistory } from '../settings-history.ts'
import { isStoppedAsIdle } from '../worker/idle-stop-predicate.ts'
import { overbuying } from './overbuying.ts'
import { oversoldCapacity } from './oversold-capacity.ts'
import { overusedMachines, shortReservations, startedTooEarly } from './physical-capacity.ts'
import { overQuota } from './quota-limit.ts'
import { requestDeadlines } from './request-deadlines.ts'
import type { SessionPromises } from './session-promises.ts'

const STEP_MS = MINUTE_MS
/** Time for the event of a write, and for a teardown that continues under a new leader. */
const EVENT_DELAY_MS_MAX = 5_000
/** The API's own safety net for sessions that no controller ended. */
const GRACE_MS = 5 * MINUTE_MS
/** Between the death of a leader and the first reconcile of the next. */
const LEADERLESS_MS = 5 * MINUTE_MS
/** All attempts of all teardown steps, each with a minute to verify and its backoff. */
const TEARDOWN_MS_MAX = PIPELINE_STEPS.teardown.reduce(
  (sum, { timeoutMs, attemptsMax }) => sum + attemptsMax * (timeoutMs + 2 * MINUTE_MS),
  0,
)

export interface SessionInvariantParts {
  readonly cloud: SimModel
  readonly following: EventFollower
  readonly clock: Pick<Clock, 'now'>
  readonly labsCountedMs: number
  readonly settings: Pick<SettingsHistory, 'largestLimitSince' | 'valuesAt'>
  /** What may be bought. */
  readonly templates: readonly WorkerTemplateSpec[]
  readonly disturbances: Disturbances
  readonly promises: SessionPromises
  violated(rule: string): void
}

export interface SessionInvariants {
  readonly handlers: Required<Pick<EventHandlers, 'worker' | 'session'>>
  /** Cheap enough to be called after every timer. */
  step(): void
  /** Labs of LCM by their titles, on machines that still exist, with their sessions. */
  existingLabs(): readonly ExistingLab[]
  /**
   * Capacity still reserved after every session has ended; for the end of a run. Capacity of a lab on a stopped worker may stay
   * reserved, because the lab can't be checked.
   */
  leftovers(): readonly string[]
}

export interface ExistingLab {
  readonly machine: string
  readonly lab: string
  readonly session: string
}

/** Rules for sessions that hold at every moment. */
export function sessionInvariants(parts: SessionInvariantParts): SessionInvariants {
  const { clock, following, violated } = parts
  const { workers, sessions } = following
  const since = new Map<string, number>()
  const unserved = requestDeadlines(parts)
  let steppedMs = Number.NEGATIVE_INFINITY
  let countedMs = Number.NEGATIVE_INFINITY

  /** Reports a violation only if it lasts, because events are delayed. */
  function judge(wrong: ReadonlySet<string>): void {
    for (const rule of since.keys()) if (!wrong.has(rule)) since.delete(rule)
    for (const rule of wrong) {
      if (!since.has(rule)) since.set(rule, clock.now())
      if (clock.now() - (since.get(rule) ?? 0) > EVENT_DELAY_MS_MAX) violated(rule)
    }
  }

  return {
    handlers: {
      worker(worker, before) {
        for (const rule of [...overbooked(worker), ...sharedPorts(worker), ...stoppedInUse(worker, before)])
          violated(rule)
        if (before === undefined) for (const rule of overbuying(worker, workers.values(), sessions)) violated(rule)
      },
      session(session, before) {
        const isNew = before?.status !== session.status
        // Checks its whole history, because not every version has an event.
        for (const rule of illegalMovesOfSession(session)) violated(rule)
        for (const rule of parts.promises.changed(session, before)) violated(rule)
        for (const rule of oversoldCapacity(session, before, { ...parts, sessions, workers })) violated(rule)
        if (before === undefined)
          for (const rule of overQuota(session, sessions.values(), parts.settings, clock.now())) violated(rule)
        if (isNew && session.status === 'STOPPING') for (const rule of endedEarly(session, clock.now())) violated(rule)
        if (isNew && session.status === 'READY') for (const rule of sharedAccess(session, sessions)) violated(rule)
        if (isNew && session.status === 'READY') for (const rule of notReady(session, parts)) violated(rule)
      },
    },
    step() {
      const nowMs = clock.now()
      if (nowMs - steppedMs >= STEP_MS) {
        steppedMs = nowMs
        for (const session of sessions.values()) if (isLate(session, nowMs)) violated(`${session.id} does not end`)
        for (const rule of unserved()) violated(rule)
      }
      if (nowMs - countedMs < parts.labsCountedMs) return
      countedMs = nowMs
      for (const rule of parts.promises.step()) violated(rule)
      // Events of a worker and its session arrive in any order.
      const short = [...workers.values()].flatMap(worker => shortReservations(worker, sessions))
      const early = [...sessions.values()].flatMap(session => startedTooEarly(session, workers))
      judge(new Set([...strayLabs(parts), ...overusedMachines(parts), ...short, ...early]))
    },
    existingLabs: () => existingLabs(parts.cloud),
    leftovers: () => [
      ...strayLabs(parts),
      ...[...workers.values()]
        .filter(({ status }) => status !== 'TERMINATED')
        .flatMap(worker => leftReservations(worker, following)),
    ],
  }
}

const isLate = ({ status, timeslot }: LabletSession, nowMs: number): boolean =>
  !isFinal(status) && nowMs > toMs(timeslot.end) + GRACE_MS + TEARDOWN_MS_MAX + LEADERLESS_MS

/** A session ends early only by a cancel or a loss. */
function endedEarly({ id, desired_status, last_error, timeslot }: LabletSession, nowMs: number): string[] {
  const isEarly = desired_status === 'RUNNING' && last_error === null && nowMs < toMs(timeslot.end) - CLOCK_MS_MAX
  return isEarly ? [`${id} was ended ${Math.round((toMs(timeslot.end) - nowMs) / MINUTE_MS)} min too early`] : []
}

/** A session reported as READY has a lab whose nodes were started. */
function notReady({ id, worker_id }: LabletSession, { cloud, following, clock }: SessionInvariantParts): string[] {
  const machine = following.workers.get(worker_id ?? '')?.ec2_instance_id ?? null
  if (machine === null || cloud.machine(machine)?.state !== 'running') return []
  const labs = (cloud.cml.contextOf(machine)?.labs ?? []).filter(({ title }) => title.endsWith(` ${id}`))
  if (labs.length === 0) return []
  return labs.some(lab => lab.nodes.some(node => isUp(nodeStateAt(node, clock.now()))))
    ? []
    : [`${id} is READY, and its lab was never started`]
}

/** No two active sessions share an endpoint. */
function sharedAccess(session: LabletSession, sessions: ReadonlyMap<string, LabletSession>): string[] {
  const isUsed = ({ id, status }: LabletSession) => id !== session.id && (status === 'READY' || status === 'RUNNING')
  const endpoints = ({ access }: LabletSession) => access.map(({ host, port }) => `${host}:${port}`)
  const taken = new Set([...sessions.values()].filter(isUsed).flatMap(endpoints))
  return endpoints(session).flatMap(endpoint =>
    taken.has(endpoint) ? [`${session.id} has ${endpoint}, as another session`] : [],
  )
}

/** The idle policy never stops a worker with sessions, nor one that pending sessions wait for. */
function stoppedInUse(worker: Worker, before: Worker | undefined): string[] {
  if (before === undefined || !isStoppedAsIdle(worker, before)) return []
  const users = [...Object.keys(worker.reservations), ...worker.wanted_by]
  return users.length > 0 ? [`${worker.name} is stopped as idle with ${users}`] : []
}

/** Capacity and ports still reserved on a worker, except those of labs that can't be checked while it is stopped. */
function leftReservations(worker: Worker, { labs, sessions }: EventFollower): string[] {
  const { id, name, status, reservations, ports } = worker
  const isUnseen = status === 'STOPPED' || status === 'FAILED'
  const unseen = isUnseen ? [...labs.values()].filter(({ worker_id }) => worker_id === id) : []
  const needsCapacity = (session: string) => unseen.some(lab => lab.session_id === session && mayRun(lab))
  const needsPorts = (lab: string) => unseen.some(each => each.id === lab && !isLabGone(each))
  return [
    ...Object.keys(reservations).flatMap(session =>
      needsCapacity(session) ? [] : [`${name} keeps capacity for ${session}, ${sessions.get(session)?.status}`],
    ),
    ...Object.keys(ports).flatMap(lab => (needsPorts(lab) ? [] : [`${name} keeps ports for ${lab}`])),
  ]
}

/** By its latest record; a lab that is being imported may run by now. */
const mayRun = ({ status, lab_id }: LabRecord): boolean => !isQuiet(status) || (status === 'DEFINED' && lab_id === null)

function existingLabs(cloud: SimModel): ExistingLab[] {
  return cloud.machines().flatMap(({ instance, state }) => {
    if (state === 'terminated' || state === 'shutting-down') return []
    const machine = instance.instance_id
    return (cloud.cml.contextOf(machine)?.labs ?? []).flatMap(({ id, title }) => {
      const session = / (ls-[0-9a-z-]+)$/.exec(title)?.[1]
      return session === undefined ? [] : [{ machine, lab: id, session }]
    })
  })
}

/** A session has at most one lab that isn't being deleted, and none after its end. */
function strayLabs({ cloud, following: { labs, sessions } }: SessionInvariantParts): string[] {
  const existing = existingLabs(cloud)
  if (existing.length === 0) return []
  const leaving = new Set(
    [...labs.values()]
      .filter(({ pending_action, status }) => pending_action?.action === 'delete' || status === 'ERROR')
      .map(({ lab_id }) => lab_id),
  )
  const kept = new Map<string, ExistingLab[]>()
  for (const each of existing) {
    if (!leaving.has(each.lab)) kept.set(each.session, [...(kept.get(each.session) ?? []), each])
  }
  return [...kept].flatMap(([id, own]) => {
    const status = sessions.get(id)?.status
    const names = own.map(({ machine, lab }) => `${lab} on ${machine}`).join(', ')
    if (status !== undefined && isFinal(status)) return [`${id} is ${status} and has ${names}`]
    return own.length > 1 ? [`${id} has ${own.length} labs: ${names}`] : []
  })
}
