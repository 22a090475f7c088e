import { expect, it } from 'vitest'
import type { SessionService } from '../world/session-controller-processes.ts'
import { crashSessions, SESSION_PATHS, type SessionPath, undisturbedSessions } from './session-crashes.ts'
import { somePoints } from './worker-crash-run.ts'

const SEED = 9
const READS_SAMPLED = 150

// A sample: `npm run sim -- --crashes 1` crashes at every call. The tests of the lablet-controller crash it at every change.
// Odd, so that crashes before and after a call alternate.
const EVERY_SCHEDULER_CRASH = 3
const EVERY_LABLET_CRASH = 7

async function crash(path: SessionPath, service: SessionService, every: number): Promise<void> {
  const points = somePoints((await undisturbedSessions(path, SEED))[service], READS_SAMPLED)
  expect(points.length).toBeGreaterThan(4)
  const first = SESSION_PATHS.indexOf(path) % every
  for (const point of points.filter((_, n) => n % every === first))
    await crashSessions(path, SEED, { ...point, service })
}

it.each(SESSION_PATHS)('a scheduler crash in $name has the same outcome as no crash', path =>
  crash(path, 'resource-scheduler', EVERY_SCHEDULER_CRASH),
)

// The pipelines of long paths are the same.
it.each(SESSION_PATHS.filter(({ isLong }) => !isLong))(
  'a lablet-controller crash in $name has the same outcome as no crash',
  path => crash(path, 'lablet-controller', EVERY_LABLET_CRASH),
)
