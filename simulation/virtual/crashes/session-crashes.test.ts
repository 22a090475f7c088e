import { describe, expect, it } from 'vitest'
import type { SessionService } from '../world/session-controller-processes.ts'
import { crashSessions, SESSION_PATHS, type SessionPath, undisturbedSessions } from './session-crashes.ts'
import { type CrashPoint, somePoints } from './worker-crash-run.ts'

const SEED = 9
const READS_SAMPLED = 150

async function pointsOf(path: SessionPath, service: SessionService): Promise<readonly CrashPoint[]> {
  const points = somePoints((await undisturbedSessions(path, SEED))[service], READS_SAMPLED)
  expect(points.length).toBeGreaterThan(4)
  return points
}

describe.each(SESSION_PATHS)('in $name', path => {
  it('a scheduler crash has the same outcome as no crash', async () => {
    const service = 'resource-scheduler'
    const taken = (await pointsOf(path, service)).filter((_, n) => n % 3 === 0)
    for (const point of taken) await crashSessions(path, SEED, { ...point, service })
  })
})

// A sample: `npm run sim -- --crashes 1` runs all of them. The other paths take long, and their pipelines are the same.
const [RUN, CANCEL] = SESSION_PATHS

describe.each([
  { path: RUN, offset: 0 },
  { path: CANCEL, offset: 1 },
])('in $path.name', ({ path, offset }) => {
  it('a lablet-controller crash has the same outcome as no crash', async () => {
    if (path === undefined) throw new Error('unknown path')
    const service = 'lablet-controller'
    const points = await pointsOf(path, service)
    // Before one call and after the next; the reverse in the other path.
    const taken = points.filter((_, n) => (n + Math.floor(n / 2)) % 4 === offset)
    for (const point of taken) await crashSessions(path, SEED, { ...point, service })
  })
})
