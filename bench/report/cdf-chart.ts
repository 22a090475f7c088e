import type { Chart } from './chart-svg.ts'
import { quantile, rounded, sorted } from './quantiles.ts'

const SHARES = [...Array.from({ length: 100 }, (_, n) => n / 100), 0.995, 0.999, 1]
/** A logarithm has no zero. */
const LEAST_MS = 0.05

/** Cumulative share of each series by time. */
export const cdfChart = (
  name: string,
  title: string,
  series: Readonly<Record<string, readonly number[]>>,
  barMs?: number,
): Chart => ({
  name,
  title,
  x: { label: 'milliseconds', scale: 'log' },
  y: { label: '% of all', scale: 'linear' },
  lines: Object.entries(series).map(([line, values]) => ({ name: line, points: cumulated(sorted(values)) })),
  ...(barMs === undefined ? {} : { bar: { axis: 'x', at: barMs, label: `p99 <= ${barMs} ms` } }),
})

const cumulated = (ordered: readonly number[]): [number, number][] =>
  SHARES.map(share => [Math.max(LEAST_MS, rounded(quantile(ordered, share), 2)), rounded(share * 100)])
