import { expect, it } from 'vitest'
import { calmRun } from './calm-run.ts'

it('keeps every promise on a calm day', async () => {
  // A sample: `npm run sim -- --calm-days 200` simulates more of them.
  const { broken, admitted } = await calmRun(3, 1)
  expect(broken).toEqual([])
  expect(admitted).toBeGreaterThan(5)
})
