import { toInstant } from '../../instant.ts'
import { holds, withoutCondition } from '../boot.ts'
import type { Seen } from '../observation.ts'
import { CONDITION, type Worker } from '../worker.ts'
import { announce, type Decision } from './decision.ts'

/** Says once that nothing was measured of a running worker for too long, and takes it back when something is. */
export function decideFreshness({ worker, metricsSilentSince: sinceMs }: Seen): Decision | null {
  const isSaid = holds(worker.conditions, CONDITION.metricsStale)
  const others = withoutCondition(worker.conditions, CONDITION.metricsStale)
  if (sinceMs === null) return isSaid ? announce({ conditions: others }, 'it is measured again') : null
  if (isSaid) return null
  const message = 'neither CloudWatch nor CML could be asked how busy it is'
  const stale = { type: CONDITION.metricsStale, status: true, reason: 'NoSample', message, since: toInstant(sinceMs) }
  return announce({ conditions: [...others, stale] }, message)
}

/** Conditions of running workers only: other workers are neither measured nor probed. */
const OF_RUNNING: readonly string[] = [CONDITION.metricsStale, CONDITION.cmlAccessRefused]

export function withoutRunningConditions(worker: Worker, decision: Decision): Decision {
  const { action } = decision
  if (action.kind !== 'write' || (action.changes.status ?? 'RUNNING') === 'RUNNING') return decision
  const conditions = action.changes.conditions ?? worker.conditions
  const kept = conditions.filter(({ type }) => !OF_RUNNING.includes(type))
  if (kept.length === conditions.length) return decision
  return { ...decision, action: { ...action, changes: { ...action.changes, conditions: kept } } }
}
