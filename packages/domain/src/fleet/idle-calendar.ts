import { toMs } from '../instant.ts'
import type { Plan, PlannedStep } from '../plan/plan.ts'
import type { Worker } from '../worker/worker.ts'
import type { ActivityEvidence } from './activity-evidence.ts'

/** What the calendar knows about a worker without sessions. */
export interface IdleCalendar {
  /** What the plan has for it now; null without a plan that has the worker. */
  readonly step: PlannedStep | null
  /** How long a start takes: without a plan, a worker stays on for as long as another start would cost. */
  readonly bootMs: number
}

/** The newest step that is due: a plan is stored when its meaning changes, so its steps may have been due for a while. */
export function dueStepOf({ machines }: Pick<Plan, 'machines'>, workerId: string, nowMs: number): PlannedStep | null {
  const steps = machines.find(({ worker_id }) => worker_id === workerId)?.steps ?? []
  return steps.findLast(({ at }) => toMs(at) <= nowMs) ?? null
}

/**
 * Whether people use the worker without sessions, so that the calendar can't know when they need it: a lab runs that no session
 * has, or it was used or created after its last session.
 */
export function isUsedByHand(
  { activity, created_at, origin }: Pick<Worker, 'activity' | 'created_at' | 'origin'>,
  evidence: Pick<ActivityEvidence, 'last_activity_at' | 'running_nodes'> | null,
): boolean {
  if ((evidence?.running_nodes ?? 0) > 0) return true
  const knownUse = activity.sessions_until ?? (origin === 'SCALE_UP' ? created_at : '')
  return [created_at, activity.last_activity_at, evidence?.last_activity_at].some(at => at != null && at > knownUse)
}
