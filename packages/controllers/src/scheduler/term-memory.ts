import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { isDue } from '@lcm/domain/session/scheduling'
import type { Meter } from '@lcm/runtime'
import { type Demand, isSchedulable } from './observe.ts'

const MINUTE_MS = 60_000
const BECAUSE_CHARS_MAX = 1000

/** What the last cycle found and left, for those who ask this instance and for what wakes the next one. */
export interface Board {
  cycleBegins(): void
  cycleFails(): void
  /** Null when no session waits for anything. */
  cycleEnds(found: Found | null): void
  /** What was written of a session, so that its echo is known. */
  saw(session: LabletSession): void
  /** Whether the last cycle knew this version of a session, or a newer one. */
  isEcho(sessionId: string, version: number): boolean
  /** Whether a change of a worker may matter to anybody: somebody waits, or a cycle is under way that may end so. */
  isAnybodyWaiting(): boolean
  plan(): readonly PlannedAction[]
  sessionsManaged(): number
  sessionsWaiting(): number
  clear(): void
}

export interface Found extends Pick<Demand, 'sessions' | 'settings'> {
  /** Why each session that could be placed is not, by its id. */
  readonly reasons: ReadonlyMap<string, string>
  readonly nowMs: number
}

export function board(meter: Meter): Board {
  const waiting = meter.gauge('resource_scheduler_waiting_sessions', 'sessions that are due and have no place')
  const managed = meter.gauge('resource_scheduler_managed_sessions', 'sessions that are PENDING or SCHEDULED')
  let plan: readonly PlannedAction[] = []
  let sessions = 0
  let waits = 0
  let isUnderWay = false
  let versions = new Map<string, number>()
  function show(): void {
    waiting.set(waits)
    managed.set(sessions)
  }
  show()

  return {
    cycleBegins() {
      isUnderWay = true
    },
    cycleFails() {
      isUnderWay = false
    },
    cycleEnds(found) {
      isUnderWay = false
      const ours = (found?.sessions ?? []).filter(isSchedulable)
      sessions = ours.length
      waits = found?.reasons.size ?? 0
      plan = found === null ? [] : planOf(found)
      versions = new Map(ours.map(({ id, version }) => [id, Math.max(version, versions.get(id) ?? 0)]))
      show()
    },
    saw: ({ id, version }) => void versions.set(id, version),
    isEcho: (id, version) => version <= (versions.get(id) ?? 0),
    isAnybodyWaiting: () => isUnderWay || waits > 0,
    plan: () => plan,
    sessionsManaged: () => sessions,
    sessionsWaiting: () => waits,
    clear() {
      isUnderWay = false
      plan = []
      sessions = 0
      waits = 0
      versions = new Map()
      show()
    },
  }
}

function planOf({ sessions, settings, reasons, nowMs }: Found): PlannedAction[] {
  const waits = [...reasons].map(([id, because]) => ({
    resource: `session:${id}`,
    action: 'wait',
    because: because.slice(0, BECAUSE_CHARS_MAX),
    due_at: null,
  }))
  const later = sessions
    .filter(session => session.status === 'PENDING' && session.desired_status === 'RUNNING')
    .filter(session => !isDue(session, settings, nowMs))
    .map(({ id, timeslot }) => ({
      resource: `session:${id}`,
      action: 'place',
      because: `it is given a place ${settings.schedule_ahead_minutes} min before it begins`,
      due_at: toInstant(toMs(timeslot.start) - settings.schedule_ahead_minutes * MINUTE_MS),
    }))
  return [...waits, ...later]
}
