import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { dayText, minuteText, timestampText } from '../state/time-format.ts'
import { useConsole } from './console-context.ts'

const HEIGHT_PX = 180

export interface Series {
  readonly label: string
  /** A tone of the console: `green`, `blue`, … */
  readonly tone: 'green' | 'blue' | 'orange' | 'red' | 'violet' | 'grey'
  readonly values: readonly (number | null)[]
}

interface ChartProps {
  readonly title: string
  readonly atMs: readonly number[]
  readonly series: readonly Series[]
  /** The value in words, such as `41 %`. */
  readonly text: (value: number) => string
  /** The top of the scale; by the values unless given. */
  readonly max?: number
  readonly kind?: 'lines' | 'bars'
  /** From when to when; by the values unless given. */
  readonly spanMs?: readonly [number, number]
}

/** Values over time. Those who can't see it get the newest values and the highest as text. */
export function Chart({ title, atMs, series, text, max, kind = 'lines', spanMs }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const { themeChoice } = useConsole()
  const theme = themeChoice.theme.value
  useEffect(() => {
    const target = place.current
    if (target === null || atMs.length === 0) return
    const chart = new uPlot(optionsOf({ target, series, text, max, kind, spanMs }), dataOf(atMs, series), target)
    const resized = new ResizeObserver(() => chart.setSize({ width: target.clientWidth, height: HEIGHT_PX }))
    resized.observe(target)
    return () => {
      resized.disconnect()
      chart.destroy()
    }
    // A chart is small and changes about once a minute, so it is drawn anew rather than changed.
  }, [atMs, series, theme, max, kind, text, spanMs])
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {atMs.length === 0 ? <p class="muted">Nothing was measured yet.</p> : <div ref={place} aria-hidden="true" />}
      <p class="sr-only">{series.map(each => `${each.label}: ${summary(each.values, text)}`).join('; ')}</p>
    </figure>
  )
}

function summary(values: readonly (number | null)[], text: (value: number) => string): string {
  const known = values.filter(value => value !== null)
  const newest = known.at(-1)
  return newest === undefined ? 'unknown' : `now ${text(newest)}, at most ${text(Math.max(...known))}`
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

/** What the longest time, such as `16 Nov`, takes with some air around it. */
const TIME_LABEL_PX = 84

/** The day is told where it changes. */
const tickTexts = (seconds: readonly number[]): string[] =>
  seconds.map((at, index) => {
    const [day, before] = [dayText(at * 1000), seconds[index - 1]]
    const isTold = before === undefined || dayText(before * 1000) !== day
    return isTold ? `${minuteText(at * 1000)}\n${day}` : minuteText(at * 1000)
  })

/** With fewer there is no line to see. */
const POINTS_FOR_A_LINE = 3

function optionsOf({ target, series, text, max, kind, spanMs }: Drawn): uPlot.Options {
  const axis = { stroke: inkOf(target, '--ink-soft'), grid: { stroke: inkOf(target, '--line'), width: 1 } }
  const bars = uPlot.paths.bars?.({ size: [0.6, 40], align: 0 })
  return {
    width: target.clientWidth,
    height: HEIGHT_PX,
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
          filter: (_: uPlot, __: number, isShown: boolean) => (isShown || kind === 'bars' ? null : lonePoints(values)),
        },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : text(value)),
        ...(kind === 'bars' && bars ? { paths: bars, fill: inkOf(target, `--${tone}-ink`), width: 0 } : {}),
      })),
    ],
  }
}

/** A canvas knows no `light-dark()`: the browser is asked what a colour comes to here and now. */
function inkOf(target: HTMLElement, variable: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${variable})`
  target.append(probe)
  const colour = getComputedStyle(probe).color
  probe.remove()
  return colour
}

/** Places of values with nothing known on either side: a line needs two, so these are drawn as dots. */
export const lonePoints = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, index) => {
    const isAlone = (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null
    return value !== null && isAlone ? [index] : []
  })
