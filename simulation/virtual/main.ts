/*
 * The whole system in one process on virtual time: API, store, coordination, two replicas of every controller and a simulated
 * cloud, with random users, manual changes and faults at every port. The same seed gives the same run.
 *
 *   world/        the system on virtual time, its processes and ports
 *   people/       requests of operators and learners, manual changes
 *   acts/         the acts of a run: data, drawn from the seed before the run begins
 *   faults/       faults between the parts of LCM; faults of the cloud are in the simulator
 *   invariants/   rules that must hold after every step
 *   runs/         one run from the first act until everything has settled; shrinking of a failed run
 *   mutants/      deliberate defects, each of which an invariant must find
 *   stories/      tests of one scenario each
 *   crashes/      a crash before and after every port call
 *
 * Options; the last line of the output is the summary as JSON:
 *
 *   --seed N [--hours H] [--workers W]            one run; default size: half an hour, three workers
 *   --runs K [--from N] [--hours H] [--workers W] many of them
 *   --replay FILE                                 a plan that a failed run has written
 *   --mutants [NAME]                             hunts all mutants, or one
 *   --crashes N                                  a crash before and after every port call of every path, for N seeds
 *   --saves N                                    crashes of the API while it saves labs, in N runs
 *   --calm-days N                                days of classes on a cloud without faults, a few per seed
 */
import { MUTANTS } from './mutants/mutants.ts'
import { calmDays } from './runs/calm-days-command.ts'
import { type Command, parseCommand, USAGE, UsageError } from './runs/command-options.ts'
import { crashes, saveCrashes } from './runs/crashes-command.ts'
import { huntAll } from './runs/mutants-command.ts'
import { replay, wholeRuns } from './runs/runs-and-replay-commands.ts'

const USAGE_EXIT_CODE = 2

function execute(command: Command): Promise<{ readonly runs: number; readonly failures: number }> {
  switch (command.what) {
    case 'runs':
      return wholeRuns(command)
    case 'replay':
      return replay(command.file)
    case 'mutants':
      return huntAll(command.names)
    case 'crashes':
      return crashes(command)
    case 'saves':
      return saveCrashes(command)
    case 'calm-days':
      return calmDays(command)
  }
}

/** `--help` prints the usage and succeeds. */
function showUsage(): void {
  process.stdout.write(`${USAGE}\n`)
}

async function simulate(args: readonly string[]): Promise<void> {
  const names = MUTANTS.map(({ name }) => name)
  const count = await execute(parseCommand(args, names))
  process.stdout.write(`${JSON.stringify(count)}\n`)
  process.exitCode = count.failures === 0 && count.runs > 0 ? 0 : 1
}

try {
  const args = process.argv.slice(2)
  if (args.some(arg => arg === '--help' || arg === '-h')) showUsage()
  else await simulate(args)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = USAGE_EXIT_CODE
}
