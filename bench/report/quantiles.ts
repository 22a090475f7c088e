/** Sorted copy for `quantile`. */
export const sorted = (values: readonly number[]): readonly number[] => values.toSorted((a, b) => a - b)
export const quantile = (ordered: readonly number[], q: number): number =>
  ordered[Math.min(ordered.length - 1, Math.floor(q * ordered.length))] ?? 0

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

/** Median of each quantile over the rounds. */
export const medianOf = (rounds: readonly Quantiles[]): Quantiles => ({
  p50: median(rounds.map(({ p50 }) => p50)),
  p99: median(rounds.map(({ p99 }) => p99)),
  max: median(rounds.map(({ max }) => max)),
})
