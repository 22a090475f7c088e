import { expect, it } from 'vitest'
import { reason } from '../../reason.ts'
import { ATTENTION_REASONS } from './attention-reasons.ts'
import { BUDGET_REASONS } from './budget-reasons.ts'
import { CALENDAR_REASONS } from './calendar-reasons.ts'
import { REASONS } from './catalog.ts'
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

const PARTS = [
  WORKER_REASONS,
  LAUNCH_REASONS,
  LICENSE_REASONS,
  NEXT_REASONS,
  SESSION_REASONS,
  SAVE_REASONS,
  PLACEMENT_REASONS,
  LAB_REASONS,
  FLEET_REASONS,
  BUDGET_REASONS,
  PROBLEM_REASONS,
  QUOTA_REASONS,
  CALENDAR_REASONS,
  ATTENTION_REASONS,
  PLAN_REASONS,
]

it('no code is defined twice: a later one would silently replace the earlier one', () => {
  const codes = ['text', 'not_given', 'nothing_to_do', ...PARTS.flatMap(part => Object.keys(part))]
  expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([])
  expect(Object.keys(REASONS).toSorted()).toEqual(codes.toSorted())
})

it.each(Object.keys(REASONS))('%s is snake_case and at most 64 characters long', code => {
  expect(code).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/)
  expect(code.length).toBeLessThanOrEqual(64)
})

it('says that no reason was given, or that there is nothing to do', () => {
  expect(reason('not_given').message).toBe('no reason given')
  expect(reason('nothing_to_do').message).toBe('nothing to do')
})
