import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { type CostInterval, costOf, intervalOf } from '@lcm/domain/worker/cost'
import { COST_CAUSES, type CostCause } from '@lcm/domain/worker/parts'
import { WORKER_STATUSES, type Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../api.ts'
import { STREAMS } from '../commands/entries.ts'
import { spentByDay } from './spent-by-day.ts'
import { allWorkers } from './workers.ts'

const WEEK_MS = 7 * 86_400_000
/** Money is kept this long. */
const KEPT_MS = 400 * 86_400_000
const PAGE = 1000

type Summary = AnswerOf<'getFleetSummary'>

export async function fleetSummary(api: Api, query: QueryOf<'getFleetSummary'>): Promise<Summary> {
  const nowMs = api.clock.now()
  const now = toInstant(nowMs)
  const since = toInstant(Math.max(query.since === undefined ? nowMs - WEEK_MS : toMs(query.since), nowMs - KEPT_MS))
  const workers = await allWorkers(api)
  const intervals = [
    ...(await closedIntervals(api, since)),
    ...workers.flatMap(worker => intervalOf(worker, now) ?? []),
  ]
  return {
    at: now,
    workers: countsOf(workers),
    capacity: capacityOf(workers),
    cost: {
      per_hour_usd: sum(workers, worker => costOf(worker, now).per_hour_usd),
      since,
      ...spentOf(intervals.map(interval => within(interval, since))),
      by_day: spentByDay(intervals, since, now),
    },
  }
}

const sum = <T>(all: readonly T[], value: (each: T) => number): number =>
  all.reduce((total, each) => total + value(each), 0)

function countsOf(workers: readonly Worker[]): Summary['workers'] {
  const count = (matches: (worker: Worker) => boolean) => workers.filter(matches).length
  return {
    total: count(worker => worker.status !== 'TERMINATED'),
    by_status: Object.fromEntries(WORKER_STATUSES.map(status => [status, count(worker => worker.status === status)])),
    idle: count(worker => worker.status === 'RUNNING' && worker.activity.idle_since !== null),
    needs_attention: count(worker => worker.status === 'FAILED' || worker.status === 'UNKNOWN'),
  }
}

/** Of workers that run: the others give nothing now. */
function capacityOf(workers: readonly Worker[]): Summary['capacity'] {
  const running = workers.filter(worker => worker.status === 'RUNNING')
  const declared = running.flatMap(({ capacity }) => (capacity.declared === null ? [] : [capacity.declared]))
  const reserved = running.map(({ capacity }) => capacity.reserved)
  return {
    declared: {
      cpu_cores: sum(declared, each => each.cpu_cores),
      memory_gb: sum(declared, each => each.memory_gb),
      storage_gb: sum(declared, each => each.storage_gb),
      nodes: sum(declared, each => each.max_nodes),
    },
    reserved: {
      cpu_cores: sum(reserved, each => each.cpu_cores),
      memory_gb: sum(reserved, each => each.memory_gb),
      storage_gb: sum(reserved, each => each.storage_gb),
      nodes: sum(reserved, each => each.nodes),
    },
  }
}

type Spent = Pick<CostInterval, 'cause' | 'usd' | 'saved_usd'>

async function closedIntervals(api: Api, since: Instant): Promise<CostInterval[]> {
  const found: CostInterval[] = []
  let after: { at: string; id: string } | null = null
  for (;;) {
    const page: Awaited<ReturnType<typeof api.store.journal.query>> = await api.store.journal.query({
      streams: [STREAMS.cost],
      from: since,
      limit: PAGE,
      ...(after === null ? {} : { after }),
    })
    found.push(...page.map(entry => entry.body as CostInterval))
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return found
    after = { at: last.at, id: last.id }
  }
}

/** The part of an interval that lies after `since`. */
function within(interval: CostInterval, since: Instant): Spent {
  const whole = toMs(interval.to) - toMs(interval.from)
  const part = toMs(interval.to) - Math.max(toMs(interval.from), toMs(since))
  const share = whole <= 0 ? 1 : Math.min(1, Math.max(0, part / whole))
  return { cause: interval.cause, usd: interval.usd * share, saved_usd: interval.saved_usd * share }
}

function spentOf(intervals: readonly Spent[]): Pick<Summary['cost'], 'spent_usd' | 'saved_usd' | 'by_cause'> {
  const of = (cause: CostCause) =>
    sum(
      intervals.filter(each => each.cause === cause),
      each => each.usd,
    )
  return {
    spent_usd: sum(intervals, each => each.usd),
    saved_usd: sum(intervals, each => each.saved_usd),
    by_cause: Object.fromEntries(COST_CAUSES.map(cause => [cause, of(cause)])),
  }
}
