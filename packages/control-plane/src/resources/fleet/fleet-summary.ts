import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { fleetCapacity } from '@lcm/domain/fleet/fleet-capacity'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { type CostInterval, isPriceUnknown, perHourOf, totalUsd } from '@lcm/domain/worker/cost'
import { WORKER_STATUSES, type Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { costIntervalsSince, costPeriodStart, costSince, costTotals, sum } from './fleet-cost.ts'

type Summary = AnswerOf<'getFleetSummary'>

export async function fleetSummary(api: Api, query: QueryOf<'getFleetSummary'>): Promise<Summary> {
  const now = toInstant(api.clock.now())
  const since = costPeriodStart(query.since, now)
  const workers = await listAllWorkers(api)
  const intervals = (await costIntervalsSince(api, since, { workers, now })).map(({ interval }) => interval)
  return {
    at: now,
    workers: countsOf(workers),
    capacity: fleetCapacity(workers),
    cost: {
      per_hour_usd: sum(workers, worker => perHourOf(worker) ?? 0),
      unknown_prices: workers.filter(isPriceUnknown).length,
      since,
      ...costTotals(intervals.map(interval => costSince(interval, since))),
      by_day: costByDay(intervals, since, now),
    },
  }
}

function countsOf(workers: readonly Worker[]): Summary['workers'] {
  const count = (matches: (worker: Worker) => boolean) => workers.filter(matches).length
  return {
    total: count(worker => worker.status !== 'TERMINATED'),
    by_status: Object.fromEntries(WORKER_STATUSES.map(status => [status, count(worker => worker.status === status)])),
    idle: count(worker => worker.status === 'RUNNING' && worker.activity.idle_since !== null),
    needs_attention: count(worker => worker.status === 'FAILED' || worker.status === 'UNKNOWN'),
  }
}

const DAY_MS = 86_400_000

type Interval = Pick<CostInterval, 'from' | 'to' | 'usd' | 'disk_usd' | 'saved_usd'>
type Days = AnswerOf<'getFleetSummary'>['cost']['by_day']

const dayNumber = (ms: number): number => Math.floor(ms / DAY_MS)

/** Cost per UTC day, from the day of `since` to the day of `now`, days without cost included. */
export function costByDay(intervals: readonly Interval[], since: Instant, now: Instant): Days {
  const first = dayNumber(toMs(since))
  const last = Math.max(first, dayNumber(toMs(now)))
  const days = Array.from({ length: last - first + 1 }, (_, index) => ({
    day: toInstant((first + index) * DAY_MS).slice(0, 10),
    spent_usd: 0,
    saved_usd: 0,
  }))
  for (const interval of intervals)
    for (const { day, share } of sharesOf(interval, toMs(since))) {
      const target = days[Math.min(day, last) - first]
      if (target === undefined) continue
      target.spent_usd += totalUsd(interval) * share
      target.saved_usd += interval.saved_usd * share
    }
  return days
}

/** Share of the interval in each day after `sinceMs`. An interval without length belongs to its only day. */
function* sharesOf({ from, to }: Interval, sinceMs: number): Iterable<{ day: number; share: number }> {
  const [fromMs, toMsEnd] = [toMs(from), toMs(to)]
  const wholeMs = toMsEnd - fromMs
  if (wholeMs <= 0) return yield { day: dayNumber(toMsEnd), share: 1 }
  const beginMs = Math.max(fromMs, sinceMs)
  for (let day = dayNumber(beginMs); day * DAY_MS < toMsEnd; day++) {
    const partMs = Math.min(toMsEnd, (day + 1) * DAY_MS) - Math.max(beginMs, day * DAY_MS)
    yield { day, share: partMs / wholeMs }
  }
}
