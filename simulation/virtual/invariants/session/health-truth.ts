import { toMs } from '@lcm/domain/instant'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Clock } from '@lcm/runtime/clock'
import type { Disturbances } from '../../world/disturbances.ts'
import { MINUTE_MS } from '../../world/durations.ts'
import type { EventFollower } from '../../world/event-follower.ts'
import type { LabTruth } from './lab-truth.ts'

/** Health is reported within 30 s; the rest is a margin for the event and for a call that ends at its deadline. */
const REPORTED_MS_MAX = 30_000 + 30_000
/** Time for a new leader after a fault. */
const RECOVERED_MS = 2 * MINUTE_MS

export interface HealthTruthParts {
  readonly following: Pick<EventFollower, 'sessions'>
  readonly clock: Pick<Clock, 'now'>
  readonly disturbances: Disturbances
  truthOf(session: LabletSession): LabTruth
}

export interface HealthTruth {
  /** Returns the sessions whose health has been wrong for too long. */
  step(): string[]
  /** Called for every change: health that was right must not become wrong, not even for a moment. */
  changed(session: LabletSession, before: LabletSession | undefined): string[]
}

interface Seen {
  readonly isUsable: boolean
  /** Since when it is, or is not, usable. */
  readonly sinceMs: number
}

/** While no fault disturbs LCM, the health of a session says whether its lab can be used. */
export function healthTruth({ following, clock, disturbances, truthOf }: HealthTruthParts): HealthTruth {
  const seen = new Map<string, Seen>()

  function observe(session: LabletSession): Seen | null {
    const { isServed, isLabUp } = truthOf(session)
    const isUsable = isServed === null ? null : isServed && isLabUp
    const known = seen.get(session.id)
    if (!isJudged(session, clock.now()) || isUsable === null) {
      seen.delete(session.id)
      return null
    }
    if (known?.isUsable === isUsable) return known
    const next = { isUsable, sinceMs: clock.now() }
    seen.set(session.id, next)
    return next
  }

  /** Whether LCM has had time to tell the truth. */
  function isReportable({ sinceMs }: Seen): boolean {
    const faultMs = disturbances.endedMs('fault')
    const calmMs = faultMs === null ? 0 : faultMs + RECOVERED_MS
    return clock.now() - Math.max(sinceMs, calmMs) > REPORTED_MS_MAX
  }

  const wrong = ({ id, health }: LabletSession, { isUsable }: Seen): string =>
    `${id} is ${health.status} although its lab ${isUsable ? 'can' : "can't"} be used`
  const isWrong = ({ health }: LabletSession, { isUsable }: Seen): boolean => (health.status === 'OK') !== isUsable

  return {
    step: () =>
      [...following.sessions.values()].flatMap(session => {
        const known = observe(session)
        return known !== null && isWrong(session, known) && isReportable(known) ? [wrong(session, known)] : []
      }),
    changed(session, before) {
      const known = observe(session)
      if (known === null || before?.health.status === session.health.status) return []
      return isWrong(session, known) && isReportable(known) ? [wrong(session, known)] : []
    },
  }
}

const isJudged = ({ status, desired_status, timeslot }: LabletSession, nowMs: number): boolean =>
  isUp(status) && desired_status === 'RUNNING' && nowMs < toMs(timeslot.end)
