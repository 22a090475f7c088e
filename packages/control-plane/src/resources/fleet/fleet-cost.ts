import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { type CostInterval, intervalOf, totalUsd } from '@lcm/domain/worker/cost'
import type { Worker } from '@lcm/domain/worker/worker'
import { COST_SHARES, type CostShare } from '@lcm/domain/worker/worker-field-schemas'
import type { Api } from '../../api-context.ts'
import { STREAMS } from '../journal/entries.ts'
import { listAllWorkers } from '../worker/queries.ts'

/** Cost by worker; the total equals the summary. */
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
    is_price_known: intervals.every(each => each.is_price_known !== false),
    ...costTotals(intervals),
  }))
  return {
    at: now,
    since,
    unknown_prices: items.filter(({ is_price_known }) => !is_price_known).length,
    ...costTotals([...byWorker.values()].flat()),
    items: items
      .filter(({ spent_usd, saved_usd, is_price_known }) => spent_usd > 0 || saved_usd > 0 || !is_price_known)
      .toSorted((a, b) => b.spent_usd - a.spent_usd || b.saved_usd - a.saved_usd),
  }
}

const WEEK_MS = 7 * 86_400_000
/** Retention of cost entries. */
const RETENTION_MS = 400 * 86_400_000
const PAGE = 1000

/** A cost interval and its worker. */
export interface WorkerCostInterval {
  readonly workerId: string
  readonly interval: CostInterval
}

/** Start of the period: the last week by default, at most the retention. */
export const costPeriodStart = (since: Instant | undefined, now: Instant): Instant =>
  toInstant(Math.max(since === undefined ? toMs(now) - WEEK_MS : toMs(since), toMs(now) - RETENTION_MS))

/** Every interval that ended since then, and the open ones. */
export async function costIntervalsSince(
  api: Api,
  since: Instant,
  { workers, now }: { readonly workers: readonly Worker[]; readonly now: Instant },
): Promise<WorkerCostInterval[]> {
  const open = workers.flatMap(worker => {
    const interval = intervalOf(worker, now)
    return interval === null ? [] : [{ workerId: worker.id, interval }]
  })
  const openSince = new Map(workers.map(({ id, billing }) => [id, billing.since]))
  // An interval that ended after the workers were read is still open in them.
  const closed = (await closedSince(api, since)).filter(({ workerId, interval }) => {
    const read = openSince.get(workerId)
    return read === undefined || read === null || toMs(interval.from) < toMs(read)
  })
  return [...closed, ...open]
}

async function closedSince(api: Api, since: Instant): Promise<WorkerCostInterval[]> {
  const found: WorkerCostInterval[] = []
  let after: { at: string; id: string } | null = null
  for (;;) {
    const page: Awaited<ReturnType<typeof api.store.journal.query>> = await api.store.journal.query({
      streams: [STREAMS.cost],
      from: since,
      limit: PAGE,
      ...(after === null ? {} : { after }),
    })
    for (const { subject, body } of page)
      found.push({ workerId: subject.slice(subject.indexOf(':') + 1), interval: body as CostInterval })
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return found
    after = { at: last.at, id: last.id }
  }
}

export type Cost = Pick<CostInterval, 'cause' | 'usd' | 'disk_usd' | 'saved_usd' | 'is_price_known'>

/** Part of an interval after `since`. */
export function costSince(interval: CostInterval, since: Instant): Cost {
  const whole = toMs(interval.to) - toMs(interval.from)
  const part = toMs(interval.to) - Math.max(toMs(interval.from), toMs(since))
  const share = whole <= 0 ? 1 : Math.min(1, Math.max(0, part / whole))
  const { usd, disk_usd = 0, saved_usd } = interval
  return { ...interval, usd: usd * share, disk_usd: disk_usd * share, saved_usd: saved_usd * share }
}

export function costTotals(intervals: readonly Cost[]) {
  const of = (share: CostShare) =>
    share === 'disk'
      ? sum(intervals, each => each.disk_usd ?? 0)
      : sum(
          intervals.filter(each => each.cause === share),
          each => each.usd,
        )
  return {
    spent_usd: sum(intervals, totalUsd),
    saved_usd: sum(intervals, each => each.saved_usd),
    by_cause: Object.fromEntries(COST_SHARES.map(share => [share, of(share)])),
  }
}

export const sum = <T>(all: readonly T[], value: (each: T) => number): number =>
  all.reduce((total, each) => total + value(each), 0)
