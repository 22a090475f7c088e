import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cdfChart } from './cdf-chart.ts'
import { type Chart, chartSvg } from './chart-svg.ts'
import { atLeast, atMost, type Figure, measured, never, p99AtMost } from './figure-report.ts'
import { leastSquares } from './least-squares.ts'
import { resultsPage } from './results-page.ts'
import type { BenchRun } from './results-types.ts'

describe('a figure', () => {
  it('is met at its bar and missed beyond it', () => {
    expect(atMost('calls', 60, { value: 60 })).toEqual({ what: 'calls', bar: '<= 60', result: '60', met: true })
    expect(atMost('calls', 60, { value: 60.1 }).met).toBe(false)
    expect(atLeast('rate', 1_000, { value: 999, unit: '/s', more: 'bare 2' })).toEqual({
      what: 'rate',
      bar: '>= 1,000/s',
      result: '999/s (bare 2)',
      met: false,
    })
    expect(p99AtMost('took', 5, { p50: 1, p99: 5, max: 90 }).met).toBe(true)
    expect(p99AtMost('took', 5, { p50: 1, p99: 5.1, max: 5.1 }).met).toBe(false)
  })

  it('lists only the violations that happened', () => {
    expect(never('writes', { 'write lost': 0, reset: 0 })).toMatchObject({
      result: 'no write lost, no reset',
      met: true,
    })
    expect(never('writes', { 'write lost': 0, reset: 2 })).toMatchObject({ result: 'reset: 2', met: false })
  })
})

describe('a straight line through points', () => {
  it('has their slope, and no error when they are on the line', () => {
    const points = Array.from({ length: 10 }, (_, x) => [x, 3 * x + 7] as const)
    const { slope, intercept, standardError } = leastSquares(points)
    expect([slope, intercept, standardError].map(each => Math.round(each * 1e6) / 1e6)).toEqual([3, 7, 0])
  })

  it('trusts waves less than noise of the same size', () => {
    const at = (of: (x: number) => number) => leastSquares(Array.from({ length: 60 }, (_, x) => [x, of(x)] as const))
    const noise = at(x => (x % 2 === 0 ? 1 : -1))
    const wave = at(x => (Math.floor(x / 10) % 2 === 0 ? 1 : -1))
    expect(wave.standardError).toBeGreaterThan(2 * noise.standardError)
  })
})

const chart = (more: Partial<Chart> = {}): Chart => ({
  name: 'a-chart',
  title: 'R&D',
  x: { label: 'workers', scale: 'log' },
  y: { label: 'MB', scale: 'linear' },
  lines: [{ name: 'all', points: [[10, 0] as const, [10_000, 40] as const] }],
  ...more,
})
const labels = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text)

describe('a chart', () => {
  it('has round ticks from end to end', () => {
    const svg = chartSvg(chart())
    expect(labels(svg)).toEqual(expect.arrayContaining(['10', '100', '1,000', '10,000', '0', '20', '40', 'R&amp;D']))
    expect(svg).toContain('points="72.0,312.0 700.0,90.0"')
  })

  it('shows the bar also when all points are far from it', () => {
    const svg = chartSvg(cdfChart('took', 'Took', { them: [1, 2, 3] }, 500))
    expect(labels(svg)).toEqual(expect.arrayContaining(['p99 &lt;= 500 ms', '1,000']))
  })

  it('of shares begins at the minimum and ends at the maximum', () => {
    const [line] = cdfChart('took', 'Took', { them: [4, 1, 3, 2] }).lines
    expect([line?.points[0], line?.points.at(-1)]).toEqual([
      [1, 0],
      [4, 100],
    ])
  })
})

describe('the page', () => {
  const run = (figures: readonly Figure[] | null): BenchRun => ({
    at: '2026-01-02T03:04:05.678Z',
    seconds: 12.3,
    node: '20.0.0',
    cores: 2,
    load_average: 0.25,
    commit: 'abc1234+',
    report: figures === null ? null : { bench: 'b', met: true, figures, charts: [chart()] },
  })

  it('lists missed bars first, and failed benches', () => {
    const results = {
      slow: run([atMost('takes', 5, { value: 9, unit: 'ms' }), measured('besides', '1 MB')]),
      gone: run(null),
      open: run([{ what: 'grows', bar: '<= 5 MB/h', result: '4 MB/h', met: null }]),
    }
    const page = resultsPage(results, [...Object.keys(results), 'soak'])
    expect(page).toContain('Never recorded: `soak.ts`.')
    expect(page).toContain('3 bars: 0 met, 2 missed, 1 undecided.')
    expect(page).toContain('* takes: 9 ms, and the bar is <= 5 ms (`slow.ts`)')
    expect(page).toContain('| takes | <= 5 ms | 9 ms | **missed** | `slow.ts` |')
    expect(page).toContain('| besides |  | 1 MB |  | `slow.ts` |')
    expect(page).toContain('| grows | <= 5 MB/h | 4 MB/h | undecided | `open.ts` |')
    expect(page).toContain('| it ends | it broke | **missed** | `gone.ts` |')
    expect(page).toContain('| `slow.ts` | 2026-01-02 03:04 UTC | 12 s | abc1234+ | 20.0.0 | 2 | 0.3 |')
    expect(page).toContain('![R&D](charts/a-chart.svg)')
  })
})

it('results.md is made from results.json', () => {
  const stored = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
  const benches = readdirSync(new URL('../figures', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => path.replace(/^.*\/|\.ts$/g, ''))
  expect(stored('results.md')).toBe(resultsPage(JSON.parse(stored('results.json')), benches.sort()))
})
