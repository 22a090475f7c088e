import { toInstant } from '../../instant.ts'
import { reason } from '../../reason.ts'
import type { Seen } from '../observation.ts'
import { CONDITION, holds, withoutCondition } from '../worker.ts'
import { announce, type Decision } from './decision.ts'

/** Sets MetricsStale once when a running worker was not measured for too long, and removes it with the next sample. */
export function decideMetricsStale({ worker, metricsSilentSince: sinceMs }: Seen): Decision | null {
  const isSet = holds(worker.conditions, CONDITION.metricsStale)
  const others = withoutCondition(worker.conditions, CONDITION.metricsStale)
  if (sinceMs === null) return isSet ? announce({ conditions: others }, reason('metrics_restored')) : null
  if (isSet) return null
  const because = reason('metrics_stale')
  const stale = { type: CONDITION.metricsStale, status: true, reason: because, since: toInstant(sinceMs) }
  return announce({ conditions: [...others, stale] }, because)
}
