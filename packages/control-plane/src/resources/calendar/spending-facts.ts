import { budgetStartMs, type SpendingFacts } from '@lcm/domain/fleet/budget'
import { diskUsdPerGbMonth, diskUsdPerHour } from '@lcm/domain/fleet/machine-facts'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import { diskPerHour, totalUsd } from '@lcm/domain/worker/cost'
import type { Api } from '../../api-context.ts'
import { costIntervalsSince } from '../fleet/fleet-cost.ts'
import { listAll } from '../list-documents.ts'
import type { Known } from './capacity-calendar.ts'

/** What the fleet has cost in the periods of its budgets, and what its disks go on costing. */
export async function spendingFacts(
  api: Api,
  limits: SettingValues,
  { workers: known, timings }: Pick<Known, 'workers' | 'timings'>,
): Promise<SpendingFacts> {
  const nowMs = api.clock.now()
  const workers = [...known.values()]
  const since = toInstant(budgetStartMs(limits, nowMs))
  const intervals = await costIntervalsSince(api, since, { workers, now: toInstant(nowMs) })
  const [region] = api.config.regions
  const perMonth = diskUsdPerGbMonth(region, api.config.regionFacts ?? {})
  const disks = new Map(
    (await listAll(api.templates)).map(each => [each.name, diskUsdPerHour(each.root_volume_gb, perMonth)]),
  )
  return {
    limits,
    spent: intervals.map(({ interval }) => ({
      fromMs: toMs(interval.from),
      untilMs: toMs(interval.to),
      usd: totalUsd(interval),
    })),
    untilMs: nowMs,
    committed: workers.map(worker => ({
      fromMs: nowMs,
      untilMs: Number.POSITIVE_INFINITY,
      usdPerHour: diskPerHour(worker),
    })),
    diskUsdPerHour: template => disks.get(template) ?? 0,
    wakeMs: template => timings.bootMs(template).wakeMs,
  }
}
