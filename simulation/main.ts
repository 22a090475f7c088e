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
import { parseArgs } from 'node:util'
import { crashes } from './runs/command-crashes.ts'
import { huntAll } from './runs/command-mutants.ts'
import { type Asked, replay, wholeRuns } from './runs/command-runs.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    from: { type: 'string', default: '1' },
    hours: { type: 'string' },
    workers: { type: 'string' },
    replay: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    crashes: { type: 'string' },
  },
})

const size: Pick<Asked, 'size'> =
  values.hours === undefined && values.workers === undefined
    ? { size: { workers: 3, hours: 0.5, pace: 'brisk' } }
    : { size: { workers: Number(values.workers ?? 10), hours: Number(values.hours ?? 6), pace: 'long' } }

async function asked(): Promise<{ readonly runs: number; readonly failures: number }> {
  if (values.replay !== undefined) return replay(values.replay)
  if (values.mutants) return huntAll(positionals)
  if (values.crashes !== undefined) return crashes(Number(values.crashes))
  if (values.seed !== undefined) return wholeRuns({ ...size, from: Number(values.seed), count: 1 })
  return wholeRuns({ ...size, from: Number(values.from), count: Number(values.runs ?? 0) })
}

const count = await asked()
process.stdout.write(`${JSON.stringify(count)}\n`)
process.exitCode = count.failures === 0 && count.runs > 0 ? 0 : 1
