import type { AnswerOf } from '@lcm/contract/routes'
import { dueStepOf } from '@lcm/domain/fleet/idle-calendar'
import { type Instant, toInstant } from '@lcm/domain/instant'
import type { PlannedStep } from '@lcm/domain/plan/plan'
import { boundedPlan, PLAN_ID, type StoredPlan } from '@lcm/domain/plan/stored-plan'
import type { Api } from '../../api-context.ts'
import { leaderOfService } from '../service/queries.ts'
import { fenceOfTerm } from '../service/term-fencing.ts'

const SCHEDULER = 'resource-scheduler'

export async function getPlan(api: Api): Promise<AnswerOf<'getPlan'>> {
  const plan = await api.plans.get(PLAN_ID)
  if (plan === null) return noPlan(toInstant(api.clock.now()))
  const { fence, created_at, ...shown } = plan
  return { ...shown, is_current: await isCurrent(api, plan) }
}

/** Before the scheduler has stored one. */
const noPlan = (now: Instant): AnswerOf<'getPlan'> => ({
  ...{ id: PLAN_ID, version: 0, updated_at: null, is_current: false },
  ...boundedPlan({ at: now, until: now, machines: [], unplaced: [], usd: 0 }),
})

/** What the plan has for the worker now. While no leading scheduler stands behind it, it keeps machines on, and stops none. */
export async function plannedStep(api: Api, workerId: string): Promise<PlannedStep | null> {
  const plan = await api.plans.get(PLAN_ID)
  const step = plan === null ? null : dueStepOf(plan, workerId, api.clock.now())
  if (plan === null || step === null) return null
  return step.kind !== 'stop' || (await isCurrent(api, plan)) ? step : null
}

/**
 * The scheduler computes a plan on every change and writes it only when its meaning changed, so its age says nothing. It is
 * current if it is from the present term, and the last cycle of that leader completed.
 */
async function isCurrent(api: Api, { fence }: StoredPlan): Promise<boolean> {
  const { term, leader } = await leaderOfService(api, SCHEDULER)
  return term !== null && leader !== null && fence[SCHEDULER] === fenceOfTerm(term) && leader.retries === 0
}
