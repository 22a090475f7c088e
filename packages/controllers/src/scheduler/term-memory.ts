import { toInstant, toMs } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { dueMs } from '@lcm/domain/session/scheduling'
import type { SchedulingInput } from '@lcm/domain/session/scheduling-types'
import type { Meter } from '@lcm/runtime'
import { planBoard } from '../kit/decision-log.ts'
import { isSchedulable } from './observe.ts'

const MINUTE_MS = 60_000

/** State of one term: the result of the last cycle, and refusals of the API. */
export interface SchedulerMemory {
  cycleBegins(): void
  cycleFails(): void
  /** Null when no session waits for anything. */
  cycleEnds(result: CycleResult | null): void
  /** Notes a version that this term wrote, so its change hint wakes no cycle. */
  wrote(session: LabletSession): void
  /** Whether the last cycle knew this version of a session, or a newer one. */
  isEcho(sessionId: string, version: number): boolean
  /** Whether a change of a worker may matter: sessions wait, or may wait after the cycle in progress. */
  isCapacityAwaited(): boolean
  plan(): readonly PlannedAction[]
  sessionsManaged(): number
  sessionsWaiting(): number
  /** Workers that an operator keeps stopped, each with the version at which the API refused to start it. */
  readonly heldWorkers: Map<string, number>
}

export interface CycleResult extends Pick<SchedulingInput, 'sessions' | 'definitions' | 'settings' | 'timings'> {
  /** By session: why it is due and not placed. */
  readonly reasons: ReadonlyMap<string, Reason>
  readonly nowMs: number
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
  gauges.set(waits, sessions)

  return {
    heldWorkers: new Map(),
    cycleBegins() {
      isInProgress = true
    },
    cycleFails() {
      isInProgress = false
    },
    cycleEnds(result) {
      isInProgress = false
      const managed = (result?.sessions ?? []).filter(isSchedulable)
      sessions = managed.length
      waits = result?.reasons.size ?? 0
      board.clear()
      for (const { resource, ...planned } of result === null ? [] : planOf(result)) board.set(resource, planned)
      versions = new Map(managed.map(({ id, version }) => [id, Math.max(version, versions.get(id) ?? 0)]))
      gauges.set(waits, sessions)
    },
    wrote: ({ id, version }) => void versions.set(id, version),
    isEcho: (id, version) => version <= (versions.get(id) ?? 0),
    isCapacityAwaited: () => isInProgress || waits > 0,
    plan: board.plan,
    sessionsManaged: () => sessions,
    sessionsWaiting: () => waits,
  }
}

function planOf({ sessions, reasons, nowMs, ...due }: CycleResult): PlannedAction[] {
  const waits = [...reasons].map(([id, because]) => ({
    resource: `session:${id}`,
    action: 'wait',
    because,
    due_at: null,
  }))
  const later = sessions
    .filter(session => session.status === 'PENDING' && session.desired_status === 'RUNNING')
    .map(session => ({ ...session, atMs: dueMs(session, due) }))
    .filter(({ atMs }) => atMs > nowMs)
    .map(({ id, timeslot, atMs }) => ({
      resource: `session:${id}`,
      action: 'place',
      because: reason('placed_ahead', { minutes: Math.round((toMs(timeslot.start) - atMs) / MINUTE_MS) }),
      due_at: toInstant(atMs),
    }))
  return [...waits, ...later]
}
