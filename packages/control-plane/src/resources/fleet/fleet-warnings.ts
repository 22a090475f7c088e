import type { AnswerOf } from '@lcm/contract/routes'
import { spanOf } from '@lcm/domain/calendar/span'
import { type BudgetWindow, budgetWarning, hasBudget } from '@lcm/domain/fleet/budget'
import { AHEAD_MS, capacityWarnings } from '@lcm/domain/fleet/capacity-ahead'
import type { FleetWarning } from '@lcm/domain/fleet/fleet-warning'
import { promiseWarnings } from '@lcm/domain/fleet/lost-promises'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { listAll } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { currentTimings } from '../timing/queries.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { budgetWindows } from './budget-windows.ts'
import { fleetScaling } from './change-fleet-scaling.ts'

/** What operators should know before anybody is affected: budgets that run out, and limits that are too low for what is booked. */
export async function fleetWarnings(api: Api): Promise<AnswerOf<'getFleetWarnings'>> {
  const settings = await currentSettings(api)
  const nowMs = api.clock.now()
  const at = toInstant(nowMs)
  const workers = await listAllWorkers(api)
  const moment = { settings, scaling: await fleetScaling(api), now: at, workers }
  const windows = hasBudget(settings) ? await budgetWindows(api, moment, nowMs) : []
  const items = [
    ...promiseWarnings({
      sessions: await listAll(api.sessions, { where: { at_risk: 'yes' } }),
      workers,
      templates: await listAll(api.templates),
      settings,
    }),
    ...windows.flatMap(windowWarnings),
    ...(await warningsAhead(api, settings, workers, nowMs)),
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

async function warningsAhead(
  api: Api,
  settings: SettingValues,
  workers: readonly Worker[],
  nowMs: number,
): Promise<FleetWarning[]> {
  const untilMs = nowMs + AHEAD_MS
  const open = await listAll(api.sessions, { where: { is_over: 'no' } })
  const sessions = open.filter(({ timeslot }) => toMs(timeslot.start) < untilMs)
  const ids = [...new Set(sessions.map(({ definition }) => definition.id))]
  const found = await Promise.all(ids.map(id => api.definitions.get(id)))
  const timings = await currentTimings(api)
  return capacityWarnings({
    sessions,
    definitions: new Map(found.flatMap(each => (each === null ? [] : [[each.id, each]]))),
    workers,
    templates: await listAll(api.templates),
    settings,
    region: api.config.regions[0],
    nowMs,
    spanOf: (session, definition) => spanOf(session, definition, timings, settings),
  })
}
