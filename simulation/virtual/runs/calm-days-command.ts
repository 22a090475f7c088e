import { type CalmOutcome, calmRun } from '../calm-days/calm-run.ts'
import { openTerminal } from './terminal.ts'

/** Long enough that machines are stopped and started again, and that durations are measured. */
const DAYS_PER_RUN = 4
const BROKEN_SHOWN = 10

export interface CalmSummary extends Omit<CalmOutcome, 'broken'> {
  readonly runs: number
  /** Runs that violated an invariant, or in which a promise was not kept. */
  readonly failures: number
  readonly seconds: number
}

const NOTHING: Omit<CalmOutcome, 'broken'> = {
  ...{ days: 0, seats: 0, admitted: 0, best_effort: 0, refused: 0, canceled: 0, extended: 0, extensions_refused: 0 },
  ...{ without_capacity: 0, flaps: 0, boots: 0 },
}

/** Simulates as many days, a few per seed, and counts admitted sessions without capacity. */
export async function calmDays({ from, count }: { from: number; count: number }): Promise<CalmSummary> {
  const terminal = openTerminal()
  let sum = NOTHING
  let [runs, failures, shown] = [0, 0, 0]
  for (let left = count; left > 0; left -= DAYS_PER_RUN) {
    const [seed, days] = [from + runs, Math.min(left, DAYS_PER_RUN)]
    const onProgress = (hour: number) => terminal.progress(`seed ${seed}, hour ${hour} of ${days * 24}`)
    runs += 1
    try {
      const { broken, ...outcome } = await calmRun(seed, days, { onProgress })
      sum = added(sum, outcome)
      if (broken.length > 0) failures += 1
      for (const text of broken.slice(0, BROKEN_SHOWN - shown)) terminal.print(`seed ${seed}: ${text}`)
      shown += Math.min(broken.length, BROKEN_SHOWN - shown)
    } catch (error) {
      failures += 1
      terminal.print(error instanceof Error ? error.message : String(error))
    }
  }
  return { runs, failures, ...sum, seconds: Math.round(terminal.cpuSeconds()) }
}

const added = (a: typeof NOTHING, b: typeof NOTHING): typeof NOTHING => ({
  ...a,
  ...Object.fromEntries((Object.keys(a) as (keyof typeof NOTHING)[]).map(name => [name, a[name] + b[name]])),
})
