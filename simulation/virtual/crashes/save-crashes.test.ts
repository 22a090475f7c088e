import { expect, it } from 'vitest'
import { saveCrashRun } from './save-crashes.ts'

// A sample: `npm run sim -- --saves 1000` makes more of them.
const SEEDS = Array.from({ length: 10 }, (_, n) => n + 1)

it('loses no save and shows no half-written one, wherever the API crashes', async () => {
  let crashes = 0
  for (const seed of SEEDS) crashes += await saveCrashRun(seed)
  expect(crashes).toBeGreaterThan(SEEDS.length)
})
