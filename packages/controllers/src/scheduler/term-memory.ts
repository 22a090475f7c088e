import type { ChangeHint } from '@lcm/coordination/change-keys'
import { toInstant } from '@lcm/domain/instant'
import type { Reason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import { isOver, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Schedule } from '@lcm/domain/session/scheduling'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Meter } from '@lcm/runtime'
import { planBoard } from '../kit/decision-log.ts'
import { isSchedulable } from './observe.ts'
import { type PlanMemory, planMemory } from './plan-memory.ts'

/** State of one term: the plan, the result of the last cycle, and refusals of the API. */
export interface SchedulerMemory extends PlanMemory {
  cycleBegins(): void
  cycleFails(): void
  cycleEnds(result: CycleResult): void
  /** Notes a version that this term wrote, so its change hint wakes no cycle. */
  wrote(session: LabletSession): void
  /** Whether the last cycle knew this version of a session, or a newer one. */
  isEcho(sessionId: string, version: number): boolean
  /** Whether the last cycle knew the session as one that goes on. */
  isEnd(sessionId: string): boolean
  /** Whether the last cycle knew the worker in another status. */
  isNewsOfWorker(hint: ChangeHint): boolean
  /** Whether a change of a worker may matter: sessions wait, or may wait after the cycle in progress. */
  isCapacityAwaited(): boolean
  plan(): readonly PlannedAction[]
  sessionsManaged(): number
  sessionsWaiting(): number
  /** Workers that an operator keeps stopped, each with the version at which the API refused to start it. */
  readonly heldWorkers: Map<string, number>
  /** Workers that the API did not let this term terminate. */
  readonly keptWorkers: Set<string>
}

export interface CycleResult extends Pick<Schedule, 'later' | 'nextMs'> {
  readonly sessions: readonly LabletSession[]
  readonly workers: readonly Worker[]
  /** By session: why it is due and not placed. */
  readonly reasons: ReadonlyMap<string, Reason>
}

export interface SchedulerGauges {
  set(waiting: number, managed: number): void
}

export function schedulerGauges(meter: Meter): SchedulerGauges {
  const waiting = meter.gauge('resource_scheduler_waiting_sessions', 'sessions that are due and not placed')
  const managed = meter.gauge('resource_scheduler_managed_sessions', 'sessions that are PENDING or SCHEDULED')
  return {
    set(waitingCount, managedCount) {
      waiting.set(waitingCount)
      managed.set(managedCount)
    },
  }
}

export function schedulerMemory(gauges: SchedulerGauges): SchedulerMemory {
  const board = planBoard()
  let sessions = 0
  let waits = 0
  let isInProgress = false
  let versions = new Map<string, number>()
  let open: ReadonlySet<string> = new Set()
  let workers: ReadonlyMap<string, string> = new Map()
  gauges.set(waits, sessions)

  return {
    ...planMemory(),
    heldWorkers: new Map(),
    keptWorkers: new Set(),
    cycleBegins() {
      isInProgress = true
    },
    cycleFails() {
      isInProgress = false
    },
    cycleEnds(result) {
      isInProgress = false
      const managed = result.sessions.filter(isSchedulable)
      sessions = managed.length
      waits = result.reasons.size
      board.clear()
      for (const { resource, ...planned } of planOf(result)) board.set(resource, planned)
      versions = new Map(managed.map(({ id, version }) => [id, Math.max(version, versions.get(id) ?? 0)]))
      open = new Set(result.sessions.filter(session => !isOver(session)).map(({ id }) => id))
      workers = new Map(result.workers.map(worker => [worker.id, statusesOf(worker)]))
      gauges.set(waits, sessions)
    },
    wrote: ({ id, version }) => void versions.set(id, version),
    isEcho: (id, version) => version <= (versions.get(id) ?? 0),
    isEnd: id => open.has(id),
    isNewsOfWorker: hint => workers.get(hint.id) !== statusesOf(hint),
    isCapacityAwaited: () => isInProgress || waits > 0,
    plan: board.plan,
    sessionsManaged: () => sessions,
    sessionsWaiting: () => waits,
  }
}

type Statuses = Pick<ChangeHint, 'status' | 'desired_status' | 'service_status'>
const statusesOf = ({ status, desired_status, service_status }: Statuses): string =>
  `${status} ${desired_status} ${service_status}`

function planOf({ reasons, later }: CycleResult): PlannedAction[] {
  const waits = [...reasons].map(([id, because]) => ({
    resource: `session:${id}`,
    action: 'wait',
    because,
    due_at: null,
  }))
  const places = later.map(({ session, atMs, because }) => ({
    resource: `session:${session.id}`,
    action: 'place',
    because,
    due_at: toInstant(atMs),
  }))
  return [...waits, ...places]
}
