import { loadavg } from 'node:os'
import type { Chart } from './chart-svg.ts'
import type { Quantiles } from './quantiles.ts'

export const ROUNDS = 3

/** One row of the table: the name of the figure, its bar and its result. */
export interface Figure {
  readonly what: string
  /** Empty for a figure without a bar. */
  readonly bar: string
  readonly result: string
  /** Null without a bar, or when the run is too short to decide. */
  readonly met: boolean | null
}

export const shown = (value: number, unit = ''): string =>
  `${value.toLocaleString('en-US', { maximumFractionDigits: 3 })}${unit === '' || unit.startsWith('/') ? '' : ' '}${unit}`

interface Measured {
  readonly value: number
  /** As in `ms`, `MB` or `/s`. */
  readonly unit?: string
  /** Text after the value. */
  readonly more?: string
}

const resultOf = ({ value, unit, more }: Measured): string => `${shown(value, unit)}${more ? ` (${more})` : ''}`

export const atMost = (what: string, max: number, measured: Measured): Figure => ({
  what,
  bar: `<= ${shown(max, measured.unit)}`,
  result: resultOf(measured),
  met: measured.value <= max,
})

export const atLeast = (what: string, min: number, measured: Measured): Figure => ({
  what,
  bar: `>= ${shown(min, measured.unit)}`,
  result: resultOf(measured),
  met: measured.value >= min,
})

/** A p99 in milliseconds. */
export const p99AtMost = (what: string, maxMs: number, { p50, p99, max }: Quantiles, more = ''): Figure => ({
  what,
  bar: `p99 <= ${maxMs} ms`,
  result: `${wordsOf({ p50, p99, max })}${more === '' ? '' : ` (${more})`}`,
  met: p99 <= maxMs,
})

/** Something that must never happen, by name and count. */
export const never = (what: string, counts: Readonly<Record<string, number>>): Figure => {
  const happened = Object.entries(counts).filter(([, count]) => count > 0)
  const found = happened.map(([name, count]) => `${name}: ${shown(count)}`).join(', ')
  const none = `no ${Object.keys(counts).join(', no ')}`
  return { what, bar: 'none', result: found === '' ? none : found, met: found === '' }
}

/** A figure without a bar. */
export const measured = (what: string, result: string): Figure => ({ what, bar: '', result, met: null })

export const wordsOf = ({ p50, p99, max }: Quantiles): string => `p50 ${p50} ms, p99 ${p99} ms, at most ${max} ms`

export interface Report {
  /** File name without its extension. */
  readonly bench: string
  readonly figures: readonly Figure[]
  readonly charts?: readonly Chart[]
  /** Further data for later reference. */
  readonly details?: object
}

/** Ends a bench: a table for people, one line for machines, and the exit code. */
export function conclude({ bench, figures, charts = [], details = {} }: Report): void {
  const missed = figures.filter(({ met }) => met === false)
  // Other load affects the figures, so it is shown with them.
  const lines = [`${bench}, load average ${loadavg()[0]?.toFixed(1)}`, ...figures.map(lineOf)]
  process.stdout.write(`${lines.join('\n')}\n`)
  process.stdout.write(`${JSON.stringify({ bench, ...details, figures, charts, met: missed.length === 0 })}\n`)
  process.exitCode = missed.length === 0 ? 0 : 1
}

function lineOf({ what, bar, result, met }: Figure): string {
  const judged = bar === '' ? '' : `   (bar ${bar}${met === false ? ': MISSED' : ''})`
  return `  ${what.padEnd(64)}  ${result}${judged}`
}
