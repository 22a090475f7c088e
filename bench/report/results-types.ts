import type { Chart } from './chart-svg.ts'
import type { Figure } from './figure-report.ts'

/** The last recorded run of one bench. */
export interface BenchRun {
  readonly at: string
  readonly seconds: number
  readonly node: string
  readonly cores: number
  /** Load average before the run. */
  readonly load_average: number
  /** Commit; with a plus when files were changed. */
  readonly commit: string
  /** Null when it failed without a result. */
  readonly report: {
    readonly bench: string
    readonly met: boolean
    readonly figures: readonly Figure[]
    readonly charts: readonly Chart[]
  } | null
}

/** Runs by bench name, stored in `results.json`. */
export type Results = Readonly<Record<string, BenchRun>>
