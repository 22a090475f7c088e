import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { dayText, minuteText, timestampText } from '../state/time-format.ts'
import { useConsole } from './console-context.ts'

const HEIGHT_PX = 180

export interface Series {
  readonly label: string
  /** A color of the console's palette. */
  readonly tone: 'green' | 'blue' | 'orange' | 'red' | 'violet' | 'gray'
  readonly values: readonly (number | null)[]
}

interface ChartProps {
  readonly title: string
  readonly atMs: readonly number[]
  readonly series: readonly Series[]
  /** Formats a value, such as `41 %`. */
  readonly text: (value: number) => string
  /** Top of the scale. Default: derived from the values. */
  readonly max?: number
  /** `steps`: a value holds until the next one. */
  readonly kind?: 'lines' | 'bars' | 'steps'
  /** Time range. Default: derived from the values. */
  readonly spanMs?: readonly [number, number]
  /** Read to screen readers. Default: the newest and the highest value. */
  readonly spoken?: string
}

/** Line, step or bar chart. */
export function Chart({ title, atMs, series, text, max, kind = 'lines', spanMs, spoken }: ChartProps) {
  const container = useRef<HTMLDivElement>(null)
  const { themeChoice } = useConsole()
  const theme = themeChoice.theme.value
  const prefersDark = usePrefersDark()
  useEffect(() => {
    const target = container.current
    if (target === null || atMs.length === 0) return
    const chart = new uPlot(optionsOf({ target, series, text, max, kind, spanMs }), dataOf(atMs, series), target)
    const resized = new ResizeObserver(() => chart.setSize({ width: target.clientWidth, height: HEIGHT_PX }))
    resized.observe(target)
    return () => {
      resized.disconnect()
      chart.destroy()
    }
    // A chart is small and changes about once a minute, so it is rebuilt instead of updated.
  }, [atMs, series, theme, prefersDark, max, kind, text, spanMs])
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {atMs.length === 0 ? <p class="muted">No measurements yet.</p> : <div ref={container} aria-hidden="true" />}
      <p class="sr-only">{spoken ?? series.map(each => `${each.label}: ${summary(each.values, text)}`).join('; ')}</p>
    </figure>
  )
}

/** The preference of the browser, which the theme `system` follows: colors on a canvas don't change by themselves. */
function usePrefersDark(): boolean {
  const isDark = useSignal(false)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const follow = () => {
      isDark.value = query.matches
    }
    follow()
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [isDark])
  return isDark.value
}

function summary(values: readonly (number | null)[], text: (value: number) => string): string {
  const known = values.filter(value => value !== null)
  const newest = known.at(-1)
  return newest === undefined ? 'unknown' : `now ${text(newest)}, maximum ${text(Math.max(...known))}`
}

const dataOf = (atMs: readonly number[], series: readonly Series[]): uPlot.AlignedData => [
  atMs.map(ms => ms / 1000),
  ...series.map(each => [...each.values]),
]

interface Drawn extends Required<Pick<ChartProps, 'series' | 'text' | 'kind'>> {
  readonly target: HTMLElement
  readonly max: number | undefined
  readonly spanMs: ChartProps['spanMs']
}

/** Width of the longest time label, such as `16 Nov 2026`, with padding. */
const TIME_LABEL_PX = 84

/** Half of the longest time label, which would be cut off at the right edge. */
const LABEL_OVERHANG_PX = 40

/** Labels show the day only where it changes. */
const tickTexts = (seconds: readonly number[]): string[] =>
  seconds.map((at, index) => {
    const [day, before] = [dayText(at * 1000), seconds[index - 1]]
    const showsDay = before === undefined || dayText(before * 1000) !== day
    return showsDay ? `${minuteText(at * 1000)}\n${day}` : minuteText(at * 1000)
  })

/** Below this, points are drawn: two values make no visible line. */
const POINTS_FOR_A_LINE = 3

function optionsOf({ target, series, text, max, kind, spanMs }: Drawn): uPlot.Options {
  const axis = { stroke: inkOf(target, '--ink-soft'), grid: { stroke: inkOf(target, '--line'), width: 1 } }
  const bars = uPlot.paths.bars?.({ size: [0.6, 40], align: 0 })
  const steps = uPlot.paths.stepped?.({ align: 1 })
  return {
    width: target.clientWidth,
    height: HEIGHT_PX,
    padding: [null, LABEL_OVERHANG_PX, null, null],
    cursor: { y: false },
    legend: { live: true },
    scales: {
      x: spanMs === undefined ? {} : { range: [spanMs[0] / 1000, spanMs[1] / 1000] },
      y: { range: (_, __, highest) => [0, max ?? Math.max(highest * 1.1, Number.EPSILON)] },
    },
    axes: [
      { ...axis, ticks: { show: false }, space: TIME_LABEL_PX, values: (_, ticks) => tickTexts(ticks) },
      { ...axis, ticks: { show: false }, size: 56, values: (_, ticks) => ticks.map(text) },
    ],
    series: [
      { value: (_: uPlot, at: number | null) => (at === null ? '–' : timestampText(at * 1000)) },
      ...series.map(({ label, tone, values }) => ({
        label,
        stroke: inkOf(target, `--${tone}-ink`),
        width: 1.75,
        points: {
          show: values.length < POINTS_FOR_A_LINE,
          filter: (_: uPlot, __: number, isShown: boolean) => (isShown || kind !== 'lines' ? null : lonePoints(values)),
        },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : text(value)),
        ...(kind === 'bars' && bars ? { paths: bars, fill: inkOf(target, `--${tone}-ink`), width: 0 } : {}),
        ...(kind === 'steps' && steps ? { paths: steps } : {}),
      })),
    ],
  }
}

/** Canvas doesn't support `light-dark()`: a probe element resolves the variable to a color. */
function inkOf(target: HTMLElement, variable: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${variable})`
  target.append(probe)
  const color = getComputedStyle(probe).color
  probe.remove()
  return color
}

/** Indexes of values without a known neighbor: a line needs two values, so these are drawn as dots. */
export const lonePoints = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, index) => {
    const isAlone = (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null
    return value !== null && isAlone ? [index] : []
  })
