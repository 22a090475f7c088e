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
/** Reload interval per range: longer ranges change less. */
export const REREAD_MS: Readonly<Record<Range, number>> = { '1h': 15_000, '6h': 60_000, '24h': 120_000, '7d': 600_000 }

export type Line = readonly (number | null)[]

export interface MetricSeries {
  readonly atMs: readonly number[]
  readonly cpu: Line
  readonly memory: Line
  readonly disk: Line
  readonly labs: Line
  readonly nodes: Line
}

/** Maximum width of a chart in points. */
const POINTS_MAX = 360

/** Series for charts, oldest first. Neighboring samples are averaged when there are more than fit. */
export function metricSeries(newestFirst: readonly Metric[]): MetricSeries {
  const samples = newestFirst.toReversed()
  const size = Math.max(1, Math.ceil(samples.length / POINTS_MAX))
  const points = runsOf(samples).flatMap((run, index) => [
    ...(index === 0 ? [] : [pauseBefore(run)]),
    ...pointsOf(run, size),
  ])
  const line = (of: (sample: Metric) => number | null): Line => points.map(point => mean(point.samples.map(of)))
  return {
    atMs: points.map(({ atMs }) => atMs),
    cpu: line(sample => sample.cpu_utilization),
    memory: line(sample => sample.memory_utilization),
    disk: line(sample => sample.disk_utilization),
    labs: line(sample => sample.labs_count),
    nodes: line(sample => sample.nodes_count),
  }
}

interface ChartPoint {
  readonly atMs: number
  readonly samples: readonly Metric[]
}

const atMsOf = (sample: Metric | undefined): number => toMs(sample?.collected_at ?? '')

const pointsOf = (run: readonly Metric[], size: number): ChartPoint[] =>
  grouped(run, size).map(samples => ({ atMs: atMsOf(samples.at(-1)), samples }))

/** An empty point interrupts the line. */
const pauseBefore = ([first]: readonly Metric[]): ChartPoint => ({ atMs: atMsOf(first) - 1, samples: [] })

/** More missing samples than this mean that the worker was not measured, as while it is stopped. */
const STEPS_MISSED_MAX = 3

/** Consecutive samples. No line and no average spans the gap between two runs. */
function runsOf(samples: readonly Metric[]): Metric[][] {
  const stepsMs = samples.slice(1).map((sample, index) => atMsOf(sample) - atMsOf(samples[index]))
  const usualMs = stepsMs.toSorted((a, b) => a - b)[Math.floor((stepsMs.length - 1) / 2)] ?? 0
  const starts = stepsMs.flatMap((ms, index) => (ms > STEPS_MISSED_MAX * usualMs ? [index + 1] : []))
  return [0, ...starts].map((start, index) => samples.slice(start, starts[index]))
}

const grouped = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}
