import { failureWithout, hunt } from '../mutants/hunt.ts'
import { MUTANTS } from '../mutants/mutants.ts'
import { openTerminal } from './terminal.ts'

const SECONDS_MAX = 60

export interface Hunt {
  readonly mutant: string
  readonly breaks: string
  readonly seed: number
  readonly seconds: number
  /** The rule that found it, or the problem. */
  readonly found: string
}

export interface Hunts {
  readonly runs: number
  /** Mutants that survived, were found by an unexpected rule, or whose acts fail without the defect. */
  readonly failures: number
  readonly hunts: readonly Hunt[]
}

/** Hunts all mutants, or only those named. */
export async function huntAll(names: readonly string[]): Promise<Hunts> {
  const terminal = openTerminal()
  const wanted = MUTANTS.filter(({ name }) => names.length === 0 || names.includes(name))
  const hunts: Hunt[] = []
  let failures = 0
  for (const mutant of wanted) {
    const startedS = terminal.cpuSeconds()
    terminal.progress(mutant.name)
    const { failure, isAsExpected, seed } = await hunt(mutant, () => terminal.cpuSeconds() - startedS < SECONDS_MAX)
    const seconds = Math.round((terminal.cpuSeconds() - startedS) * 10) / 10
    const without = await failureWithout(mutant, seed)
    if (!isAsExpected || without !== null) failures += 1
    const rule = failure?.rule.split('\n')[0] ?? 'SURVIVED'
    const found =
      without !== null
        ? `FAILS WITHOUT THE DEFECT: ${without.rule.split('\n')[0]}`
        : failure === null || isAsExpected
          ? rule
          : `UNEXPECTED: ${rule}`
    hunts.push({ mutant: mutant.name, breaks: mutant.breaks, seed, seconds, found })
    terminal.print(`${mutant.name.padEnd(44)} seed ${seed}  ${seconds.toFixed(1).padStart(5)} s  ${found}`)
  }
  return { runs: wanted.length, failures, hunts }
}
