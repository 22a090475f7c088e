import { type Instant, toMs } from '../instant.ts'
import type { LabletSession, SessionStatus } from '../session/lablet-session.ts'
import type { LabSpan } from './machine-model.ts'

type RunSession = Pick<LabletSession, 'needs' | 'timeslot' | 'state_history'>

interface Run {
  readonly startedMs: number
  readonly readyMs: number | null
}

/** In these a session has no lab. */
const WITHOUT_LAB: ReadonlySet<SessionStatus> = new Set(['PENDING', 'SCHEDULED', 'STOPPED', 'ARCHIVED', 'TERMINATED'])

/**
 * When the labs of a session ran until `now`. A lab that was READY before its slot counts from when it had to start to be READY in
 * time, and one that was removed before its slot not at all: they could have been started later, or never.
 */
export function labRunsOf({ needs, timeslot, state_history }: RunSession, now: Instant): LabSpan[] {
  const slotMs = toMs(timeslot.start)
  const runs: LabSpan[] = []
  const end = (run: Run | null, untilMs: number): null => {
    const earlyMs = Math.max(0, slotMs - (run?.readyMs ?? slotMs))
    const from_ms = (run?.startedMs ?? untilMs) + earlyMs
    if (untilMs > from_ms && untilMs > slotMs) runs.push({ needs, from_ms, until_ms: untilMs })
    return null
  }
  let run: Run | null = null
  for (const { to, at } of state_history) {
    if (to === 'INSTANTIATING') run ??= { startedMs: toMs(at), readyMs: null }
    else if (to === 'READY' && run !== null) run = { startedMs: run.startedMs, readyMs: toMs(at) }
    else if (WITHOUT_LAB.has(to)) run = end(run, toMs(at))
  }
  end(run, toMs(now))
  return runs
}
