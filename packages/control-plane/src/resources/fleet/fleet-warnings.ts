import type { AnswerOf } from '@lcm/contract/routes'
import { capacityOf } from '@lcm/domain/calendar/capacity'
import { type BudgetWindow, budgetWarning, hasBudget } from '@lcm/domain/fleet/budget'
import { capacityWarnings } from '@lcm/domain/fleet/capacity-ahead'
import type { FleetWarning } from '@lcm/domain/fleet/fleet-warning'
import { promiseWarnings } from '@lcm/domain/fleet/lost-promises'
import { toInstant } from '@lcm/domain/instant'
import { licenseWarnings } from '@lcm/domain/license/license-warnings'
import { reason } from '@lcm/domain/reason'
import type { Api } from '../../api-context.ts'
import { promisedNow } from '../calendar/admit-sessions.ts'
import { inSlices } from '../calendar/capacity-calendar.ts'
import { listAll } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { budgetWindows } from './budget-windows.ts'
import { fleetScaling } from './change-fleet-scaling.ts'

/** What operators should know before anybody is affected: budgets that run out, and limits that are too low for what is booked. */
export async function fleetWarnings(api: Api): Promise<AnswerOf<'getFleetWarnings'>> {
  const settings = await currentSettings(api)
  const nowMs = api.clock.now()
  const at = toInstant(nowMs)
  const workers = await listAllWorkers(api)
  const templates = await listAll(api.templates)
  const moment = { settings, scaling: await fleetScaling(api), now: at, workers }
  const windows = hasBudget(settings) ? await budgetWindows(api, moment, nowMs) : []
  const items = [
    ...promiseWarnings({
      sessions: await listAll(api.sessions, { where: { at_risk: 'yes' } }),
      workers,
      templates,
      settings,
    }),
    ...windows.flatMap(windowWarnings),
    ...(await warningsAhead(api)),
    ...licenseWarnings({
      templates,
      definitions: await listAll(api.definitions, { where: { status: 'ACTIVE' } }),
    }),
  ]
  return { at, budgets: windows.map(budgetView), items }
}

const budgetView = (window: BudgetWindow): AnswerOf<'getFleetWarnings'>['budgets'][number] => ({
  period: window.period,
  from: toInstant(window.fromMs),
  until: toInstant(window.untilMs),
  limit_usd: window.limitUsd,
  spent_usd: window.spentUsd,
  committed_usd: window.committedUsd,
  left_usd: window.leftUsd,
})

function windowWarnings(window: BudgetWindow): FleetWarning[] {
  const because = budgetWarning(window)
  if (because === null) return []
  const { period } = window
  const is_critical = because.code === 'budget_used_up'
  return [
    { id: `budget:${period}`, kind: 'budget', is_critical, reason: because, fix: reason('fix_budget', { period }) },
  ]
}

/** The same computation that admits bookings judges what is booked already. */
async function warningsAhead(api: Api): Promise<FleetWarning[]> {
  const { profile, bestEffort, facts } = await promisedNow(api)
  const present = facts.workers.filter(
    ({ aws_region, status }) => aws_region === facts.region && status !== 'TERMINATED',
  ).length
  const settings = { scale_up_enabled: true, max_workers_per_region: present + MORE_WORKERS_MAX }
  const unlimited = capacityOf({ ...facts, settings, spending: null })
  return inSlices(api.clock, capacityWarnings({ profile, bestEffort, unlimited, present, nowMs: facts.nowMs }))
}
/** More than anybody needs. */
const MORE_WORKERS_MAX = 1000
