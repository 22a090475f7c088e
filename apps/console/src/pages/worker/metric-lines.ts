import type { AnswerOf } from '@lcm/contract/routes'
import { toMs } from '@lcm/domain/instant'

export type Metric = AnswerOf<'getWorkerMetrics'>['items'][number]

export const RANGES = ['1h', '6h', '24h', '7d'] as const
export type Range = (typeof RANGES)[number]
export const rangeOf = (text: string | undefined): Range => RANGES.find(range => range === text) ?? '1h'

const HOUR_MS = 3_600_000
export const RANGE_MS: Readonly<Record<Range, number>> = {
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 168 * HOUR_MS,
}
/** Samples come every minute; what shows a week needs no minute. */
export const REREAD_MS: Readonly<Record<Range, number>> = { '1h': 15_000, '6h': 60_000, '24h': 120_000, '7d': 600_000 }

export type Line = readonly (number | null)[]

export interface MetricLines {
  readonly atMs: readonly number[]
  readonly cpu: Line
  readonly memory: Line
  readonly disk: Line
  readonly labs: Line
  readonly nodes: Line
}

/** No chart is wider. */
const POINTS_MAX = 360

/** Lines for charts, oldest first. Where a chart has no room for every sample, neighbours are averaged. */
export function metricLines(newestFirst: readonly Metric[]): MetricLines {
  const samples = newestFirst.toReversed()
  const size = Math.ceil(samples.length / POINTS_MAX)
  const groups = size <= 1 ? samples.map(sample => [sample]) : grouped(samples, size)
  const line = (of: (sample: Metric) => number | null): Line => groups.map(group => mean(group.map(of)))
  return {
    atMs: groups.map(group => toMs(group.at(-1)?.collected_at ?? '')),
    cpu: line(sample => sample.cpu_utilization),
    memory: line(sample => sample.memory_utilization),
    disk: line(sample => sample.disk_utilization),
    labs: line(sample => sample.labs_count),
    nodes: line(sample => sample.nodes_count),
  }
}

const grouped = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}
