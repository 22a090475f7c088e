import { saveCrashRun } from '../crashes/save-crashes.ts'
import { crashSessions, SESSION_PATHS, type SessionPath, undisturbedSessions } from '../crashes/session-crashes.ts'
import { PATHS } from '../crashes/worker-crash-paths.ts'
import { callsOf, crashRun, everyPoint, somePoints } from '../crashes/worker-crash-run.ts'
import { SESSION_SERVICES } from '../world/session-controller-processes.ts'
import { openTerminal, type Terminal } from './terminal.ts'

const FAILURES_SHOWN = 5
const READS_SAMPLED = 20

interface CountedRuns {
  readonly terminal: Terminal
  run(run: () => Promise<unknown>): Promise<void>
}

interface Seeds {
  readonly from: number
  readonly count: number
}

/** Crashes the API at calls of its store while it saves labs. */
export async function saveCrashes({
  from,
  count: runs,
}: Seeds): Promise<{ runs: number; failures: number; crashes: number }> {
  const { counted, count } = counting()
  let crashes = 0
  for (let seed = from; seed < from + runs; seed += 1)
    await counted.run(async () => {
      crashes += await saveCrashRun(seed)
    })
  return { ...count, crashes }
}

/** Crashes a controller before and after every port call of every path. */
export async function crashes({ from, count: seeds }: Seeds): Promise<{ runs: number; failures: number }> {
  const { terminal, counted, count } = counting()
  for (let seed = from; seed < from + seeds; seed += 1) {
    for (const path of PATHS) {
      const names = await callsOf(path, seed)
      for (const point of everyPoint(names)) await counted.run(() => crashRun(path, seed, point))
      terminal.print(`seed ${seed}, ${path.name}: ${names.length} calls`)
    }
    for (const path of SESSION_PATHS) await sessionCrashes(path, seed, counted)
  }
  return count
}

function counting() {
  const terminal = openTerminal()
  const count = { runs: 0, failures: 0 }
  const counted: CountedRuns = {
    terminal,
    async run(run) {
      count.runs += 1
      try {
        await run()
      } catch (error) {
        count.failures += 1
        if (count.failures <= FAILURES_SHOWN) terminal.print(`${causesOf(error)}\n`)
      }
    },
  }
  return { terminal, counted, count }
}

/** Samples the reads of a long path. */
async function sessionCrashes(path: SessionPath, seed: number, { run, terminal }: CountedRuns): Promise<void> {
  const all = await undisturbedSessions(path, seed)
  for (const service of SESSION_SERVICES) {
    const points = path.isLong ? somePoints(all[service], READS_SAMPLED) : everyPoint(all[service])
    for (const point of points) await run(() => crashSessions(path, seed, { ...point, service }))
    terminal.print(`seed ${seed}, ${path.name}, ${service}: ${points.length} crashes`)
  }
}

/** The message of an error and of all its causes. */
function causesOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}\n${causesOf(error.cause)}`
}
