import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import { costOf } from '@lcm/domain/worker/cost'
import { WORKER_STATUSES, type Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../http/api.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { costByDay } from './cost-by-day.ts'
import { costIntervalsSince, costPeriodStart, costSince, costTotals, sum } from './cost-intervals.ts'

type Summary = AnswerOf<'getFleetSummary'>

export async function fleetSummary(api: Api, query: QueryOf<'getFleetSummary'>): Promise<Summary> {
  const now = toInstant(api.clock.now())
  const since = costPeriodStart(query.since, now)
  const workers = await listAllWorkers(api)
  const intervals = (await costIntervalsSince(api, since, { workers, now })).map(({ interval }) => interval)
  return {
    at: now,
    workers: countsOf(workers),
    capacity: capacityOf(workers),
    cost: {
      per_hour_usd: sum(workers, worker => costOf(worker, now).per_hour_usd),
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
