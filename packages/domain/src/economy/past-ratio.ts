import { type Instant, toMs } from '../instant.ts'
import type { LabNeeds } from '../lab/topology.ts'
import type { Capacity } from '../template/worker-template.ts'
import { leastCost } from './least-cost.ts'
import { STOP_MS } from './machine-model.ts'

/** What ran in a period, as the API returns it. */
export interface Usage {
  readonly since: Instant
  readonly machine_usd: number
  readonly machines: readonly {
    readonly template_name: string
    readonly capacity: Capacity
    readonly usd_per_hour: number
    readonly boot_ms: number
    readonly running_at_start: number
  }[]
  readonly labs: readonly { readonly needs: LabNeeds; readonly times: readonly (readonly [number, number])[] }[]
}

/** What machines cost in a period, against the least that its labs could have cost. */
export interface PastRatio {
  readonly machine_usd: number
  readonly labs: number
  readonly bound_usd: number
  readonly feasible_usd: number
  /** The machines that the least is for. */
  readonly template_names: readonly string[]
  readonly to_bound: number
}

/** Null without labs. First boots are left out: most machines existed before. */
export function pastRatio({ since, machine_usd, machines, labs }: Usage): PastRatio | null {
  const spans = labs.flatMap(({ needs, times }) => times.map(([from_ms, until_ms]) => ({ needs, from_ms, until_ms })))
  const models = machines.map(({ running_at_start, ...machine }) => ({
    ...machine,
    first_boot_ms: 0,
    stop_ms: STOP_MS,
    running: { count: running_at_start, at_ms: toMs(since) },
  }))
  const least = leastCost(spans, models)
  if (least === null || least.bound.usd === 0) return null
  return {
    machine_usd,
    labs: least.labs,
    bound_usd: least.bound.usd,
    feasible_usd: least.feasible.usd,
    template_names: [...new Set(least.template_names)],
    to_bound: machine_usd / least.bound.usd,
  }
}
