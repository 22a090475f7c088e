export interface Dimension {
  readonly name: string
  readonly value: string
}

/** All of these together identify a metric: fewer or more dimensions identify another one. */
export interface Metric {
  readonly namespace: string
  readonly name: string
  readonly dimensions: readonly Dimension[]
}

/** Aggregate of one time step, as CloudWatch stores it. */
export interface Point {
  /** Start of the step. */
  readonly at_ms: number
  readonly sum: number
  readonly count: number
  readonly min: number
  readonly max: number
}

export const STATISTICS = ['Average', 'Sum', 'Minimum', 'Maximum', 'SampleCount'] as const
export type Statistic = (typeof STATISTICS)[number]
export const isStatistic = (text: string): text is Statistic => STATISTICS.some(statistic => statistic === text)

export function statisticOf(point: Point, statistic: Statistic): number {
  switch (statistic) {
    case 'Average':
      return point.sum / point.count
    case 'Sum':
      return point.sum
    case 'Minimum':
      return point.min
    case 'Maximum':
      return point.max
    case 'SampleCount':
      return point.count
  }
}

/** Aggregates points into steps of this length, in ascending order. */
export function inPeriods(points: readonly Point[], periodMs: number): readonly Point[] {
  const periods = new Map<number, Point>()
  for (const point of points) {
    const at_ms = Math.floor(point.at_ms / periodMs) * periodMs
    const before = periods.get(at_ms)
    periods.set(at_ms, before ? together(before, point) : { ...point, at_ms })
  }
  return [...periods.values()].sort((a, b) => a.at_ms - b.at_ms)
}

export const together = (a: Point, b: Point): Point => ({
  at_ms: a.at_ms,
  sum: a.sum + b.sum,
  count: a.count + b.count,
  min: Math.min(a.min, b.min),
  max: Math.max(a.max, b.max),
})

const sorted = (dimensions: readonly Dimension[]) =>
  dimensions.map(({ name, value }) => `${name}=${value}`).sort((a, b) => (a < b ? -1 : 1))

export const sameDimensions = (a: readonly Dimension[], b: readonly Dimension[]): boolean =>
  a.length === b.length && JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))

/** Key of a metric, independent of the order of its dimensions. */
export const metricKey = (region: string, { namespace, name, dimensions }: Metric): string =>
  JSON.stringify([region, namespace, name, ...sorted(dimensions)])
