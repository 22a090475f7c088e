import { loadavg } from 'node:os'
import type { Chart } from './chart.ts'
import type { Quantiles } from './quantiles.ts'

export const ROUNDS = 3

/** One line of the table: what was measured, what was asked of it, and what came out. */
export interface Figure {
  readonly what: string
  /** Empty where nothing is asked, and the result is only told. */
  readonly bar: string
  readonly result: string
  /** Null where nothing is asked, or where the run can not tell. */
  readonly met: boolean | null
}

export const shown = (value: number, unit = ''): string =>
  `${value.toLocaleString('en-US', { maximumFractionDigits: 3 })}${unit === '' || unit.startsWith('/') ? '' : ' '}${unit}`

interface Measured {
  readonly value: number
  /** As in `ms`, `MB` or `/s`. */
  readonly unit?: string
  /** Said after the value. */
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

/** Worth knowing, though nothing is asked of it. */
export const told = (what: string, result: string): Figure => ({ what, bar: '', result, met: null })

export const wordsOf = ({ p50, p99, max }: Quantiles): string => `p50 ${p50} ms, p99 ${p99} ms, at most ${max} ms`

export interface Report {
  /** The file's name without its ending. */
  readonly bench: string
  readonly figures: readonly Figure[]
  readonly charts?: readonly Chart[]
  /** Anything else that somebody may want to look up later. */
  readonly details?: object
}

/** Ends a bench: a table for people, one line for machines, and the exit code. */
export function conclude({ bench, figures, charts = [], details = {} }: Report): void {
  const missed = figures.filter(({ met }) => met === false)
  // Other work on the machine shows in the figures, so it is told beside them.
  const lines = [`${bench}, load average ${loadavg()[0]?.toFixed(1)}`, ...figures.map(lineOf)]
  process.stdout.write(`${lines.join('\n')}\n`)
  process.stdout.write(`${JSON.stringify({ bench, ...details, figures, charts, met: missed.length === 0 })}\n`)
  process.exitCode = missed.length === 0 ? 0 : 1
}

function lineOf({ what, bar, result, met }: Figure): string {
  const judged = bar === '' ? '' : `   (bar ${bar}${met === false ? ': MISSED' : ''})`
  return `  ${what.padEnd(64)}  ${result}${judged}`
}
