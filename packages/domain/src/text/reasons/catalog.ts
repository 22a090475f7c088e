import { ATTENTION_REASONS } from './attention-reasons.ts'
import { BUDGET_REASONS } from './budget-reasons.ts'
import { CALENDAR_REASONS } from './calendar-reasons.ts'
import { FLEET_REASONS } from './fleet-reasons.ts'
import { LAB_REASONS } from './lab-reasons.ts'
import { LICENSE_REASONS } from './license-reasons.ts'
import { NEXT_REASONS } from './next-step-reasons.ts'
import { PLACEMENT_REASONS } from './placement-reasons.ts'
import { PLAN_REASONS } from './plan-reasons.ts'
import { QUOTA_REASONS } from './quota-reasons.ts'
import { SAVE_REASONS } from './save-reasons.ts'
import { PROBLEM_REASONS } from './service-problem-reasons.ts'
import { SESSION_REASONS } from './session-reasons.ts'
import { LAUNCH_REASONS, WORKER_REASONS } from './worker-reasons.ts'

/** Renders every reason by its code. A code is never given another meaning; a message may be reworded. */
export const REASONS = {
  /** Foreign texts, and texts that older releases stored. */
  text: ({ text }: { text: string }) => text,
  not_given: () => 'no reason given',
  nothing_to_do: () => 'nothing to do',
  ...WORKER_REASONS,
  ...LAUNCH_REASONS,
  ...LICENSE_REASONS,
  ...NEXT_REASONS,
  ...SESSION_REASONS,
  ...SAVE_REASONS,
  ...PLACEMENT_REASONS,
  ...LAB_REASONS,
  ...FLEET_REASONS,
  ...BUDGET_REASONS,
  ...PROBLEM_REASONS,
  ...QUOTA_REASONS,
  ...CALENDAR_REASONS,
  ...ATTENTION_REASONS,
  ...PLAN_REASONS,
}
