import { describe, expect, it } from 'vitest'
import { PATHS } from './worker-crash-paths.ts'
import { callsOf, crashRun, somePoints } from './worker-crash-run.ts'

const SEED = 7
const READS_SAMPLED = 20
/**
 * A sample: `npm run sim -- --crashes 1` crashes at every call. Together with the crashes in sessions, here and in the tests of the
 * lablet-controller, the tests crash a controller more than 500 times.
 */
const CRASHES_MIN = 280

const SAMPLE = await Promise.all(
  PATHS.map(async path => ({ path, points: somePoints(await callsOf(path, SEED), READS_SAMPLED) })),
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
