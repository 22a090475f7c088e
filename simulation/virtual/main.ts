/*
 * The whole system in one process on virtual time: API, store, coordination, all controllers twice, and a simulated cloud, with
 * people who change their minds, hands behind our back, and faults at every port. The same seed gives the same run.
 *
 *   world.ts          puts the system together and watches it
 *   acts/             what happens: the list is drawn from the seed before the run begins, and is data
 *   faults/           what goes wrong between the parts of LCM; what goes wrong in the cloud is the simulator's
 *   invariants/       what must hold after every step; session-invariants.ts for sessions, witness.ts for changes of the cloud
 *   runs/             one run from the first act until all is at rest; shrinking of a run that failed
 *   mutants/          defects on purpose, each of which must be found
 *   stories/          tests that tell one thing each
 *   paths.ts, crash-runs.ts, session-crashes.ts, zombie.ts   a crash before and after every port call
 *
 * Options, of which the last line of the output is the count as JSON:
 *
 *   --seed N [--hours H] [--workers W]            one run; without a size a brisk one of half an hour with three workers
 *   --runs K [--from N] [--hours H] [--workers W] many of them
 *   --replay FILE                                 a plan that a failing run has written
 *   --mutants [NAME]                              hunts every defect, or one
 *   --crashes N                                   a crash before and after every port call of every path, for so many seeds
 */
import { MUTANTS } from './mutants/mutants.ts'
import { crashes } from './runs/command-crashes.ts'
import { huntAll } from './runs/command-mutants.ts'
import { replay, wholeRuns } from './runs/command-runs.ts'
import { type Command, parseCommand, USAGE, UsageError } from './runs/options.ts'

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
