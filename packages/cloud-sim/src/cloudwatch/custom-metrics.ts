import { Ec2Refusal } from '../ec2/refusal.ts'
import type { SimState } from '../sim-state.ts'
import type { TimeRange } from './machine-points.ts'
import { type Metric, metricKey, type Point } from './metric.ts'

const KIND = 'metric'
const POINTS_MAX = 500
const SERIES_MAX = 5000

export interface CustomDatum {
  readonly metric: Metric
  readonly unit: string | null
  readonly point: Point
}

interface Series {
  readonly region: string
  readonly metric: Metric
  readonly unit: string | null
  readonly points: readonly Point[]
}

const seriesAt = (sim: SimState, key: string): Series | null => {
  const text = sim.stored(KIND).get(key)
  return text === undefined ? null : JSON.parse(text)
}

export function putPoints(sim: SimState, region: string, data: readonly CustomDatum[]): void {
  const changed = new Map<string, Series>()
  for (const { metric, unit, point } of data) {
    const key = metricKey(region, metric)
    const before = changed.get(key) ?? seriesAt(sim, key)
    const points = [...(before?.points ?? []), point].sort((a, b) => a.at_ms - b.at_ms).slice(-POINTS_MAX)
    changed.set(key, { region, metric, unit, points })
  }
  const added = [...changed.keys()].filter(key => !sim.stored(KIND).has(key)).length
  if (sim.stored(KIND).size + added > SERIES_MAX) {
    throw new Ec2Refusal('LimitExceeded', `The simulated CloudWatch keeps at most ${SERIES_MAX} metrics of its callers`)
  }
  sim.commit({ records: [...changed].map(([key, series]) => ({ kind: KIND, key, value: JSON.stringify(series) })) })
}

export function customPoints(sim: SimState, region: string, { metric, range }: { metric: Metric; range: TimeRange }) {
  const points = seriesAt(sim, metricKey(region, metric))?.points ?? []
  return points.filter(({ at_ms }) => at_ms >= range.from_ms && at_ms < range.to_ms)
}

export function customMetrics(sim: SimState, region: string): readonly Metric[] {
  const series = [...sim.stored(KIND).values()].map((text): Series => JSON.parse(text))
  return series.filter(each => each.region === region).map(({ metric }) => metric)
}

export const unitOf = (sim: SimState, region: string, metric: Metric): string | null =>
  seriesAt(sim, metricKey(region, metric))?.unit ?? null
