import { describe, expect, it } from 'vitest'
import { PATHS } from './worker-crash-paths.ts'
import { callsOf, crashRun, somePoints } from './worker-crash-run.ts'

const SEED = 7
const READS_SAMPLED = 19
/** The shortest paths cost little, so they crash at every read. */
const SHORT_PATH_CALLS = 50
/**
 * A sample: `npm run sim -- --crashes 1` crashes at every call. Together with the crashes and freezes in the other tests of this folder
 * and of the lablet-controller, the tests take a controller away more than 500 times.
 */
const CRASHES_MIN = 320

const SAMPLE = await Promise.all(
  PATHS.map(async path => {
    const calls = await callsOf(path, SEED)
    return { path, points: somePoints(calls, calls.length < SHORT_PATH_CALLS ? 1 : READS_SAMPLED) }
  }),
)

describe('a controller crash', () => {
  it.each(SAMPLE)('in $path.name has the same outcome as no crash', async ({ path, points }) => {
    for (const point of points) await crashRun(path, SEED, point)
  })

  it('is tested often enough in every path', () => {
    const counts = SAMPLE.map(({ points }) => points.length)
    expect(Math.min(...counts)).toBeGreaterThan(6)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(CRASHES_MIN)
  })
})
