import { parseArgs } from 'node:util'
import { crashRun, everyPoint, somePoints, undisturbed } from './crash-runs.ts'
import { PATHS } from './paths.ts'
import { randomRun } from './random-run.ts'
import { crashSessions, SESSION_PATHS, type SessionPath, undisturbedSessions } from './session-crashes.ts'
import { SESSION_SERVICES } from './session-processes.ts'
import { LARGE_SESSION_RUN, SHORT_SESSION_RUN, sessionRun } from './session-random.ts'

// `--seed N` replays one random run; `--runs N` makes so many from `--from`; `--crashes N` makes a crash before and after every
// port call of every path, for so many seeds; `--sessions N` makes so many random runs of learners, each `--large` on 200
// workers. The last line is the count as JSON.
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    from: { type: 'string', default: '1' },
    crashes: { type: 'string' },
    sessions: { type: 'string' },
    large: { type: 'boolean', default: false },
  },
})

const FAILURES_SHOWN = 5
const LOOKS_SAMPLED = 20
let runs = 0
let failures = 0

/** An error with everything that led to it. */
function story(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}\n${story(error.cause)}`
}

async function counted(run: () => Promise<unknown>): Promise<void> {
  runs += 1
  try {
    await run()
  } catch (error) {
    failures += 1
    if (failures <= FAILURES_SHOWN) process.stderr.write(`${story(error)}\n\n`)
  }
}

async function crashes(seeds: number): Promise<void> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    for (const path of PATHS) {
      const names = await undisturbed(path, seed)
      for (const point of everyPoint(names)) await counted(() => crashRun(path, seed, point))
      process.stderr.write(`seed ${seed}, ${path.name}: ${names.length} calls\n`)
    }
    for (const path of SESSION_PATHS) await sessionCrashes(path, seed)
  }
}

/** Where a path takes long, not around every look. */
async function sessionCrashes(path: SessionPath, seed: number): Promise<void> {
  const all = await undisturbedSessions(path, seed)
  for (const service of SESSION_SERVICES) {
    const points = path.isLong ? somePoints(all[service], LOOKS_SAMPLED) : everyPoint(all[service])
    for (const point of points) await counted(() => crashSessions(path, seed, { ...point, service }))
    process.stderr.write(`seed ${seed}, ${path.name}, ${service}: ${points.length} crashes\n`)
  }
}

async function sessions(from: number, count: number): Promise<void> {
  const size = values.large ? LARGE_SESSION_RUN : SHORT_SESSION_RUN
  for (let seed = from; seed < from + count; seed += 1)
    await counted(async () => {
      const { ends, machines } = await sessionRun(seed, size)
      process.stderr.write(`seed ${seed}: ${JSON.stringify(ends)} on ${machines} machines\n`)
    })
}

async function randoms(from: number, count: number): Promise<void> {
  for (let seed = from; seed < from + count; seed += 1) await counted(() => randomRun(seed))
}

if (values.seed !== undefined) await randoms(Number(values.seed), 1)
if (values.runs !== undefined) await randoms(Number(values.from), Number(values.runs))
if (values.crashes !== undefined) await crashes(Number(values.crashes))
if (values.sessions !== undefined) await sessions(Number(values.from), Number(values.sessions))
process.stdout.write(`${JSON.stringify({ runs, failures })}\n`)
process.exitCode = failures === 0 && runs > 0 ? 0 : 1
