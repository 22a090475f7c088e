import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Act } from '../acts/act.ts'
import { type Plan, planOf, type RunSize } from '../acts/plan.ts'
import { SimulationFailure } from '../world/time-control.ts'
import { readPlan } from './plan-file.ts'
import { shrink } from './shrink.ts'
import { counting, type Summary, summaryLine } from './summary.ts'
import { openTerminal, type Terminal } from './terminal.ts'
import { wholeRun } from './whole-run.ts'

export interface RunCommand {
  readonly size: RunSize
  readonly from: number
  readonly count: number
}

const SHRINK_SECONDS_MAX = 60
/** Further failures are only counted. */
const SHRUNK_MAX = 3

/** Runs many seeds; shrinks failures and writes them to files. */
export async function wholeRuns({ size, from, count }: RunCommand): Promise<Summary> {
  const terminal = openTerminal()
  const counted = counting()
  let shrunk = 0
  for (let seed = from; seed < from + count; seed += 1) {
    const plan = planOf(seed, size)
    const onProgress = (hour: number) => terminal.progress(`seed ${seed}, hour ${hour} of ${size.hours}`)
    try {
      const outcome = await wholeRun(plan, { onProgress })
      counted.succeeded(outcome)
      if (count > 1 && size.pace === 'long') terminal.print(`seed ${seed}: ${JSON.stringify(outcome)}`)
    } catch (error) {
      counted.failed()
      terminal.print(error instanceof Error ? error.message : String(error))
      shrunk += 1
      if (error instanceof SimulationFailure && shrunk <= SHRUNK_MAX) await explain(plan, error, terminal)
    }
  }
  const summary = counted.summary(terminal.cpuSeconds())
  terminal.print(summaryLine(summary))
  return summary
}

/** Prints the shortest list of acts that still fails, and writes it for `--replay`. */
async function explain(plan: Plan, failure: SimulationFailure, terminal: Terminal): Promise<void> {
  const startedS = terminal.cpuSeconds()
  const { plan: short, runs } = await shrink(plan, failure, {
    mayGoOn: () => terminal.cpuSeconds() - startedS < SHRINK_SECONDS_MAX,
    onProgress: left => terminal.progress(`seed ${plan.seed}: shrunk to ${left} acts`),
  })
  const file = join(tmpdir(), `lcm-sim-${plan.seed}.json`)
  writeFileSync(file, JSON.stringify(short, null, 1))
  terminal.print(
    `seed ${plan.seed}: ${failure.rule}\n  after ${short.acts.length} of ${plan.acts.length} acts (${runs} runs):`,
  )
  for (const act of short.acts) terminal.print(`  ${actLine(act)}`)
  terminal.print(`  npm run sim -- --replay ${file}`)
}

const actLine = ({ atMs, act, target, amount, forMs }: Act): string =>
  `${(atMs / 60_000).toFixed(2).padStart(8)} min  ${act} (${target}, ${amount}, ${Math.round(forMs / 1000)} s)`

export async function replay(file: string): Promise<{ runs: number; failures: number }> {
  const plan = readPlan(file)
  const terminal = openTerminal()
  try {
    terminal.print(JSON.stringify(await wholeRun(plan)))
    return { runs: 1, failures: 0 }
  } catch (error) {
    terminal.print(error instanceof Error ? error.message : String(error))
    return { runs: 1, failures: 1 }
  }
}
