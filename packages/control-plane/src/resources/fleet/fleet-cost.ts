import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import type { Api } from '../../http/api.ts'
import { allWorkers } from '../worker/queries.ts'
import { billedSince, countedSince, type Spent, spentOf, within } from './cost-intervals.ts'

/** The same money as in the summary, by who cost it. */
export async function fleetCost(api: Api, query: QueryOf<'getFleetCost'>): Promise<AnswerOf<'getFleetCost'>> {
  const now = toInstant(api.clock.now())
  const since = countedSince(query.since, now)
  const workers = await allWorkers(api)
  const names = new Map(workers.map(({ id, name }) => [id, name]))
  const byWorker = new Map<string, Spent[]>()
  for (const { workerId, interval } of await billedSince(api, since, { workers, now })) {
    const known = byWorker.get(workerId) ?? []
    known.push(within(interval, since))
    byWorker.set(workerId, known)
  }
  const items = [...byWorker].map(([worker_id, intervals]) => ({
    worker_id,
    name: names.get(worker_id) ?? null,
    ...spentOf(intervals),
  }))
  return {
    at: now,
    since,
    ...spentOf([...byWorker.values()].flat()),
    items: items
      .filter(({ spent_usd, saved_usd }) => spent_usd > 0 || saved_usd > 0)
      .toSorted((a, b) => b.spent_usd - a.spent_usd || b.saved_usd - a.saved_usd),
  }
}
