import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Timings } from '@lcm/domain/calendar/timings'
import { labRunsOf } from '@lcm/domain/economy/lab-runs'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { licensedNodes } from '@lcm/domain/session/free-capacity'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { costIntervalsSince, costPeriodStart, costSince, costTotals } from '../fleet/fleet-cost.ts'
import { pagesOf } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { currentTimings } from '../timing/queries.ts'
import { listAllWorkers } from '../worker/queries.ts'

type Usage = AnswerOf<'getFleetUsage'>

const DAY_MS = 86_400_000

export async function fleetUsage(api: Api, query: QueryOf<'getFleetUsage'>): Promise<Usage> {
  const nowMs = api.clock.now()
  const now = toInstant(nowMs)
  const { journal_retention_days } = await currentSettings(api)
  const keptMs = nowMs - journal_retention_days * DAY_MS
  const since = toInstant(Math.max(keptMs, toMs(costPeriodStart(query.since, now))))
  const workers = await listAllWorkers(api)
  const intervals = (await costIntervalsSince(api, since, { workers, now })).filter(({ interval }) => interval.usd > 0)
  const paid = new Set(intervals.map(({ workerId }) => workerId))
  const running = new Set(
    intervals.filter(({ interval }) => toMs(interval.from) < toMs(since)).map(({ workerId }) => workerId),
  )
  const { spent_usd, by_cause } = costTotals(intervals.map(({ interval }) => costSince(interval, since)))
  return {
    at: now,
    since,
    machine_usd: spent_usd - (by_cause.disk ?? 0),
    machines: machinesOf(
      workers.filter(({ id }) => paid.has(id)),
      running,
      await currentTimings(api),
    ),
    labs: await labsSince(api, since, now),
  }
}

/** Workers that differ in size or price are different machines, even of one template. */
function machinesOf(workers: readonly Worker[], running: ReadonlySet<string>, timings: Timings): Usage['machines'] {
  const machines = new Map<string, Usage['machines'][number]>()
  for (const worker of workers) {
    const { template_name, instance_type, cost_per_hour_usd } = worker
    const { declared } = worker.capacity
    const max_nodes = licensedNodes(worker)
    if (declared === null || cost_per_hour_usd === null || max_nodes === 0) continue
    const { cpu_cores, memory_gb, storage_gb } = declared
    const machine = {
      template_name: template_name === '' ? (instance_type ?? 'imported') : template_name,
      // An unknown size limits nothing.
      capacity: { cpu_cores, memory_gb, storage_gb: storage_gb ?? STORAGE_GB_MAX, max_nodes },
      usd_per_hour: cost_per_hour_usd,
      boot_ms: timings.bootMs(template_name).meanMs,
    }
    const key = JSON.stringify(machine)
    const running_at_start = (machines.get(key)?.running_at_start ?? 0) + (running.has(worker.id) ? 1 : 0)
    machines.set(key, { ...machine, running_at_start })
  }
  return [...machines.values()]
}
const STORAGE_GB_MAX = 1_000_000

/** Sessions that are not over and have, or had, a lab; not the many that only wait for their slot. */
const WITH_LAB = ['INSTANTIATING', 'READY', 'RUNNING', 'EXPIRED', 'STOPPING', 'STOPPED'] as const

async function labsSince(api: Api, since: Instant, now: Instant): Promise<Usage['labs']> {
  const sinceMs = toMs(since)
  const labs = new Map<string, { needs: LabletSession['needs']; times: [number, number][] }>()
  for (const where of [{ is_over: 'yes' }, ...WITH_LAB.map(status => ({ status }))])
    for await (const page of pagesOf(api.sessions, { where }))
      for (const session of page)
        for (const { needs, from_ms, until_ms } of labRunsOf(session, now)) {
          if (until_ms <= sinceMs) continue
          const key = JSON.stringify(needs)
          const kind = labs.get(key) ?? { needs, times: [] }
          labs.set(key, kind)
          kind.times.push([Math.max(sinceMs, from_ms), until_ms])
        }
  return [...labs.values()]
}
