import type { Chart } from './chart.ts'
import type { Figure } from './figures.ts'

/** The last recorded run of one bench. */
export interface BenchRun {
  readonly at: string
  readonly seconds: number
  readonly node: string
  readonly cores: number
  /** Before it began. */
  readonly load_average: number
  /** With a plus when files had been changed since. */
  readonly commit: string
  /** Null when it broke before it could tell. */
  readonly report: {
    readonly bench: string
    readonly met: boolean
    readonly figures: readonly Figure[]
    readonly charts: readonly Chart[]
  } | null
}

/** By the name of the bench; in `results.json`. */
export type Results = Readonly<Record<string, BenchRun>>
