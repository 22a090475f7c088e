import { loadavg } from 'node:os'
import { quantile, sorted } from '../cdf-chart.ts'

export const ROUNDS = 3

export const median = (values: readonly number[]): number => sorted(values)[values.length >> 1] ?? Number.NaN
export const rounded = (value: number, digits = 1): number => Number(value.toFixed(digits))

export interface Quantiles {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export function quantilesOf(values: readonly number[]): Quantiles {
  const ordered = sorted(values)
  return {
    p50: rounded(quantile(ordered, 0.5), 2),
    p99: rounded(quantile(ordered, 0.99), 2),
    max: rounded(quantile(ordered, 1), 2),
  }
}

/** Of each quantile the median over the rounds. */
export const medianOf = (rounds: readonly Quantiles[]): Quantiles => ({
  p50: median(rounds.map(({ p50 }) => p50)),
  p99: median(rounds.map(({ p99 }) => p99)),
  max: median(rounds.map(({ max }) => max)),
})

/** Other work on the machine shows in the figures, so it is told beside them. */
export const loadNow = (): string => `load average ${loadavg()[0]?.toFixed(1)}`

/** One line for machines, and the exit code. */
export function conclude(figure: string, result: object, met: boolean): void {
  console.log(JSON.stringify({ figure, ...result, met }))
  process.exitCode = met ? 0 : 1
}
