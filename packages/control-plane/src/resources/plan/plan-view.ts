import type { PlanSummary } from '@lcm/contract/calendar/plan'
import type { StoredPlan } from '@lcm/domain/plan/stored-plan'

export const planSummary = ({
  id,
  version,
  updated_at,
  at,
  until,
  usd,
  machines,
  unplaced,
}: StoredPlan): PlanSummary => ({
  ...{ id, version, updated_at, at, until, usd },
  machines: machines.length,
  unplaced: unplaced.length,
})
