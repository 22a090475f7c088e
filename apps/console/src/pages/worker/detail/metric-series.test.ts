import { toInstant } from '@lcm/domain/instant'
import { NO_METRICS } from '@lcm/testkit/observation-builders'
import { expect, it } from 'vitest'
import { type Metric, metricSeries, rangeOf } from './metric-series.ts'

const sampleAt = (minute: number, more: Partial<Metric> = {}): Metric => ({
  ...NO_METRICS,
  collected_at: toInstant(minute * 60_000),
  labs_count: null,
  ...more,
})

it('is oldest first, with gaps where nothing is known', () => {
  const lines = metricSeries([sampleAt(2, { cpu_utilization: 40, labs_count: 3 }), sampleAt(1)])
  expect(lines).toMatchObject({ atMs: [60_000, 120_000], cpu: [null, 40], labs: [null, 3], memory: [null, null] })
})

it('averages values when the chart is too narrow', () => {
  const week = Array.from({ length: 3600 }, (_, n) => sampleAt(3600 - n, { cpu_utilization: n < 1800 ? 100 : 0 }))
  const { atMs, cpu } = metricSeries(week)
  expect([atMs.length, cpu[0], cpu.at(-1)]).toEqual([360, 0, 100])
  expect(atMs.at(-1)).toBe(3600 * 60_000)
})

it('draws no line across a gap in the measurements', () => {
  const busy = (minute: number) => sampleAt(minute, { cpu_utilization: 80 })
  const { atMs, cpu } = metricSeries([503, 502, 501, 3, 2, 1].map(busy))
  expect(cpu).toEqual([80, 80, 80, null, 80, 80, 80])
  expect(atMs).toEqual(atMs.toSorted((a, b) => a - b))
  expect(metricSeries([6, 4, 3, 2].map(busy)).cpu).not.toContain(null)
})

it('does not average across a gap', () => {
  const before = Array.from({ length: 361 }, (_, n) => sampleAt(361 - n, { cpu_utilization: 100 }))
  const { cpu } = metricSeries([sampleAt(9_000, { cpu_utilization: 0 }), ...before])
  expect(cpu.slice(-3)).toEqual([100, null, 0])
})

it('shows the last hour by default', () => {
  expect([rangeOf(undefined), rangeOf('7d'), rangeOf('century')]).toEqual(['1h', '7d', '1h'])
})
