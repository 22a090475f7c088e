import { timingsOf } from '@lcm/domain/calendar/timings'
import { reason } from '@lcm/domain/reason'
import { schedule } from '@lcm/domain/session/scheduling'
import { REGION } from './fleet.ts'
import type { FleetView, OpenSession, Order, Policy } from './policy.ts'
import { SETTINGS } from './scheduler-policy.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, TERM_MS, WEEK_MS } from './trace.ts'

const LAB_LEAD_MS = 10 * MINUTE_MS
const CHECK_MS = MINUTE_MS

interface Hours {
  /** Whether the fleet runs all the time between these. */
  readonly covers: (fromMs: number, untilMs: number) => boolean
}

const ALWAYS: Hours = { covers: () => true }
/** Weekdays from 7:00 to 19:00. */
const WORK_HOURS: Hours = {
  covers: (fromMs, untilMs) => {
    const day = Math.floor(((fromMs - TERM_MS) % WEEK_MS) / DAY_MS)
    const midnightMs = fromMs - ((fromMs - TERM_MS) % DAY_MS)
    return day >= 0 && day < 5 && fromMs >= midnightMs + 7 * HOUR_MS && untilMs <= midnightMs + 19 * HOUR_MS
  },
}

/** As many machines as the busiest moment needs, on all the time. */
export const alwaysOn = (machines: number): Policy => fixedFleet('always on', machines, ALWAYS)

/** The same on weekdays from 7:00 to 19:00. Sessions outside these hours are not served. */
export const workHours = (machines: number): Policy => fixedFleet('weekdays 7-19', machines, WORK_HOURS)

/** Machines that run by the clock: no session wakes one. Sessions are placed as LCM places them. */
function fixedFleet(name: string, machines: number, hours: Hours): Policy {
  const settings = { ...SETTINGS, schedule_ahead_minutes: LAB_LEAD_MS / MINUTE_MS, scale_up_enabled: false }

  function placed(view: FleetView): Order[] {
    const served = view.sessions.filter(
      session => isDue(session, view.nowMs) && hours.covers(session.startMs, session.endMs),
    )
    if (served.length === 0) return []
    const { steps } = schedule({
      sessions: served.map(({ session }) => session),
      definitions: view.definitions,
      workers: view.workers,
      templates: [],
      settings,
      timings: timingsOf([]),
      previous: null,
      region: REGION,
      leaving: new Map(),
      nowMs: view.nowMs,
    })
    return steps.flatMap(step =>
      step.kind === 'assign'
        ? [{ kind: 'assign', session_id: step.session.id, worker_id: step.worker_id, labStartMs: view.nowMs }]
        : [],
    )
  }

  function powered({ workers, nowMs }: FleetView): Order[] {
    const isOn = hours.covers(nowMs, nowMs)
    const missing = isOn ? machines - workers.length : 0
    const bought = Array.from({ length: missing }, (_, n) => `w-${n}`)
    return [
      ...bought.map((worker_id): Order => ({ kind: 'buy', worker_id, session_ids: [] })),
      ...workers.flatMap(({ id, desired_status, reservations }): Order[] => {
        if (isOn && desired_status === 'STOPPED') return [{ kind: 'wake', worker_id: id, session_ids: [] }]
        const isUnused = !isOn && desired_status === 'RUNNING' && Object.keys(reservations).length === 0
        return isUnused ? [{ kind: 'stop', worker_id: id, because: reason('worker_idle') }] : []
      }),
    ]
  }

  return {
    name,
    decide: view => ({ orders: [...powered(view), ...placed(view)], nextMs: view.nowMs + CHECK_MS }),
  }
}

const isDue = ({ session, startMs }: OpenSession, nowMs: number): boolean =>
  session.status === 'PENDING' && startMs <= nowMs + LAB_LEAD_MS
