import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import type { Api } from '../../http/api.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { type Cost, costIntervalsSince, costPeriodStart, costSince, costTotals } from './cost-intervals.ts'

/** The same money as in the summary, by who cost it. */
export async function fleetCost(api: Api, query: QueryOf<'getFleetCost'>): Promise<AnswerOf<'getFleetCost'>> {
  const now = toInstant(api.clock.now())
  const since = costPeriodStart(query.since, now)
  const workers = await listAllWorkers(api)
  const names = new Map(workers.map(({ id, name }) => [id, name]))
  const byWorker = new Map<string, Cost[]>()
  for (const { workerId, interval } of await costIntervalsSince(api, since, { workers, now })) {
    const known = byWorker.get(workerId) ?? []
    known.push(costSince(interval, since))
    byWorker.set(workerId, known)
  }
  const items = [...byWorker].map(([worker_id, intervals]) => ({
    worker_id,
    name: names.get(worker_id) ?? null,
    ...costTotals(intervals),
  }))
  return {
    at: now,
    since,
    ...costTotals([...byWorker.values()].flat()),
    items: items
      .filter(({ spent_usd, saved_usd }) => spent_usd > 0 || saved_usd > 0)
      .toSorted((a, b) => b.spent_usd - a.spent_usd || b.saved_usd - a.saved_usd),
  }
}
