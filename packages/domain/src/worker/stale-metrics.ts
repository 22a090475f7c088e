import { toInstant } from '../instant.ts'
import { holds, withoutCondition } from './boot.ts'
import { announce, type Decision } from './decision.ts'
import type { Seen } from './observation.ts'
import { CONDITION, type Worker } from './worker.ts'

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

/** One that does not run is measured by nobody, so nothing is said of that. */
export function withoutStaleness(worker: Worker, decision: Decision): Decision {
  const { action } = decision
  if (action.kind !== 'write' || (action.changes.status ?? 'RUNNING') === 'RUNNING') return decision
  const conditions = action.changes.conditions ?? worker.conditions
  if (!holds(conditions, CONDITION.metricsStale)) return decision
  const changes = { ...action.changes, conditions: withoutCondition(conditions, CONDITION.metricsStale) }
  return { ...decision, action: { ...action, changes } }
}
