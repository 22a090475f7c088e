import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import { PLAN_ID, type StoredPlan } from '@lcm/domain/plan/stored-plan'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument } from '../change-document.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { planSummary } from './plan-view.ts'

type PlanRequest = Request<object, unknown, BodyOf<'putPlan'>>

/** Replaces the plan; that of an older leader is refused. It leaves no journal entry: every step has one when it is carried out. */
export async function putPlan(api: Api, request: PlanRequest): Promise<AnswerOf<'putPlan'>> {
  const isFirst = (await api.plans.get(PLAN_ID)) === null
  return planSummary((isFirst ? await firstPlan(api, request) : null) ?? (await nextPlan(api, request)))
}

/** Null if another one is stored meanwhile. */
async function firstPlan(api: Api, request: PlanRequest): Promise<StoredPlan | null> {
  const now = toInstant(api.clock.now())
  const fence = raiseDocumentFence({ id: PLAN_ID, fence: {} }, request)
  const plan = { ...request.body, id: PLAN_ID, version: 1, created_at: now, updated_at: now, fence }
  return (await api.plans.insert(plan)).ok ? plan : null
}

const nextPlan = (api: Api, request: PlanRequest): Promise<StoredPlan> =>
  changeDocument({ collection: api.plans, id: PLAN_ID, noun: 'plan' }, api.clock, null, current => ({
    document: { ...current, ...request.body, fence: raiseDocumentFence(current, request) },
    entries: [],
  }))
