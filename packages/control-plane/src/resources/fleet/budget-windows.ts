import {
  type BudgetWindow,
  budgetLeft,
  budgetRefusal,
  budgetStartMs,
  type Commitment,
  hasBudget,
} from '@lcm/domain/fleet/budget'
import { committedSpending, openCommitments } from '@lcm/domain/fleet/committed-spending'
import type { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { Reason } from '@lcm/domain/reason'
import { isOver } from '@lcm/domain/session/lablet-session'
import { totalUsd } from '@lcm/domain/worker/cost'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { costIntervalsSince } from './fleet-cost.ts'

/** A lab is gone after this time, as a rule. */
const TEARDOWN_MS = 2 * 60_000
/** A worker that is bought or woken for no known session. */
const USE_MS = 60 * 60_000

interface Moment {
  readonly settings: SettingValues
  readonly scaling: FleetScaling
  readonly now: Instant
}

/** The budgets from now until then; empty without one. */
export async function budgetWindows(
  api: Api,
  { settings, scaling, now, workers }: Moment & { readonly workers: readonly Worker[] },
  untilMs: number,
): Promise<BudgetWindow[]> {
  const nowMs = toMs(now)
  const intervals = await costIntervalsSince(api, toInstant(budgetStartMs(settings, nowMs)), { workers, now })
  const spent = intervals.map(({ interval }) => ({
    fromMs: toMs(interval.from),
    untilMs: toMs(interval.to),
    usd: totalUsd(interval),
  }))
  const ids = workers.flatMap(({ reservations, wanted_by }) => [...Object.keys(reservations), ...wanted_by])
  const endsMs = await sessionEnds(api, ids)
  const span = { fromMs: nowMs, untilMs: Math.max(untilMs, nowMs + 1) }
  // A period that has begun lasts longer than the span.
  const lastMs = Math.max(...budgetLeft(settings, span, { spent: [], committed: [] }).map(each => each.untilMs))
  const committed = committedSpending({ workers, commitments: scaling.commitments, endsMs, nowMs, untilMs: lastMs })
  return budgetLeft(settings, span, { spent, committed })
}

/** Machines of one kind to buy or wake for sessions. */
export interface PricedMachines {
  readonly count: number
  readonly usdPerHour: number
  /** 0 where the disk exists already. */
  readonly diskUsdPerHour: number
  readonly session_ids: readonly string[]
}

/** A decision about a budget, which only a compare-and-set on the scaling document makes valid. */
export interface Affordable {
  /** How many of them the budgets allow. */
  readonly count: number
  /** Why none more is allowed; null if all are. */
  readonly refusal: Reason | null
  /** The commitments to store for the workers that are bought or woken. */
  readonly commitments: (ids: readonly string[]) => FleetScaling['commitments']
}

export async function affordable(api: Api, moment: Moment, machines: PricedMachines): Promise<Affordable> {
  const { settings, scaling, now } = moment
  if (!hasBudget(settings)) return { count: machines.count, refusal: null, commitments: () => scaling.commitments }
  const { usdPerHour, diskUsdPerHour, session_ids } = machines
  const nowMs = toMs(now)
  const ends = [...(await sessionEnds(api, session_ids)).values()]
  const endMs = ends.length === 0 ? nowMs + USE_MS : Math.max(nowMs, ...ends)
  const workers = await listAllWorkers(api)
  const windows = await budgetWindows(api, { ...moment, workers }, endMs)
  const lastMs = Math.max(endMs, ...windows.map(({ untilMs }) => untilMs))
  const one: Commitment[] = [
    { fromMs: nowMs, untilMs: endMs, usdPerHour },
    { fromMs: nowMs, untilMs: lastMs, usdPerHour: diskUsdPerHour },
  ]
  const promise = { at: now, until: toInstant(endMs), usd_per_hour: usdPerHour, disk_usd_per_hour: diskUsdPerHour }
  const commitments: Affordable['commitments'] = ids => ({
    ...openCommitments(scaling.commitments, workers, nowMs),
    ...Object.fromEntries(ids.map(id => [id, promise])),
  })
  for (let count = 0; count < machines.count; count += 1) {
    const refusal = budgetRefusal(windows, Array.from({ length: count + 1 }, () => one).flat())
    if (refusal !== null) return { count, refusal, commitments }
  }
  return { count: machines.count, refusal: null, commitments }
}

/** By id: when open sessions leave their worker. */
async function sessionEnds(api: Api, ids: readonly string[]): Promise<Map<string, number>> {
  const sessions = await Promise.all([...new Set(ids)].map(id => api.sessions.get(id)))
  return new Map(
    sessions.flatMap(session =>
      session === null || isOver(session) ? [] : [[session.id, toMs(session.timeslot.end) + TEARDOWN_MS]],
    ),
  )
}
