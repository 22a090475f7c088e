import { describe, expect, it } from 'vitest'
import { crashRun, somePoints, undisturbed } from './crash-runs.ts'
import { PATHS } from './paths.ts'

const SEED = 7
const LOOKS_SAMPLED = 150

describe('a controller that dies', () => {
  it.each(PATHS)('in $name leaves everything as if it had not', { timeout: 120_000 }, async path => {
    const names = await undisturbed(path, SEED)
    const points = somePoints(names, LOOKS_SAMPLED)
    expect(points.length).toBeGreaterThan(6)
    for (const point of points) await crashRun(path, SEED, point)
  })
})
